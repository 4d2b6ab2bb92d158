import type { Facts, RunFacts } from "./facts.ts";

/** What is still going on: texts for people; none when everything has come to rest. */
export function unsettled({ commands, scheduler, runs }: Facts): string[] {
  const pending = commands?.commands.filter(({ status }) => status === "PENDING").length ?? 0;
  const running = scheduler?.jobs.filter(({ isOver }) => !isOver).length ?? 0;
  const unowned =
    scheduler?.segments.filter(({ status, isOwnerOnline }) => status !== "ASSIGNED" || !isOwnerOnline)
      .length ?? 0;
  return [
    ...(pending > 0 ? [`${pending} commands are not ended`] : []),
    ...(running > 0 ? [`${running} jobs are not over`] : []),
    ...(unowned > 0 ? [`${unowned} segments have no owner`] : []),
    ...runs.flatMap(unsettledRun),
  ];
}

function unsettledRun(run: RunFacts): string[] {
  const { runId, files, known, undone, ledger, gaps, indexerClasses, lastTick } = run;
  const isKnown = new Set(known);
  const unknown = files.filter(({ filename }) => !isKnown.has(filename)).length;
  const open = ledger.filter(({ status }) => status === "claimed").length;
  const unclaimed = known.length * indexerClasses.length - ledger.length;
  const searched = gaps.filter(({ status }) => status === "pending").length;
  const end = Math.max(...ledger.map(({ tickEnd }) => tickEnd), ...gaps.map((gap) => gap.end), -1);
  return [
    ...(unknown > 0 ? [`${unknown} files of ${runId} are not known`] : []),
    ...(open > 0 ? [`${open} files of ${runId} are claimed`] : []),
    ...(unclaimed > 0 ? [`${unclaimed} files of ${runId} are not claimed`] : []),
    ...(undone > 0 ? [`${undone} messages of ${runId} are not done`] : []),
    ...(searched > 0 ? [`${searched} gaps of ${runId} are searched`] : []),
    ...(end < lastTick ? [`${runId} has come to tick ${end} of ${lastTick}`] : []),
  ];
}
