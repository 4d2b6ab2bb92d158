import type { Callback } from "../evidence.ts";
import type { BatchRow, CommandRow, Facts } from "../facts.ts";
import type { Violation } from "../violation.ts";

const wrong = (what: string): Violation => ({ invariant: "I3", kind: "wrong", what });
const doubled = (what: string): Violation => ({ invariant: "I3", kind: "doubled", what });

/** I3: stored counters equal a recount; a batch completes once, when its last command has ended. */
export function checkBatches({ evidence, commands }: Facts): Violation[] {
  if (!commands) return [];
  const members = new Map<string, CommandRow[]>();
  for (const command of commands.commands) {
    if (command.batchId === null) continue;
    const list = members.get(command.batchId);
    if (list) list.push(command);
    else members.set(command.batchId, [command]);
  }
  return [
    ...commands.batches.flatMap((batch) => counterFaults(batch, members.get(batch.batchId) ?? [])),
    ...commands.batches.flatMap((batch) =>
      completionFaults(batch, commands.completions.get(batch.batchId) ?? 0),
    ),
    ...callbackFaults(evidence.callbacks, commands.batches),
  ];
}

function counterFaults(batch: BatchRow, members: readonly CommandRow[]): Violation[] {
  const count = (status: string) => members.filter((command) => command.status === status).length;
  const [completed, failed, canceled] = [count("COMPLETED"), count("FAILED"), count("CANCELED")];
  const recount = {
    total: members.length,
    completed,
    failed,
    canceled,
    troubled: count("IN_TROUBLESHOOTING_QUEUE"),
  };
  const faults = (Object.keys(recount) as (keyof typeof recount)[]).filter(
    (name) => recount[name] !== batch[name],
  );
  const isEnded = completed + failed + canceled === members.length;
  const status = isEnded ? (failed + canceled > 0 ? "COMPLETED_WITH_FAILURES" : "COMPLETED") : "IN_PROGRESS";
  const isStatusRight = batch.status === status || (!isEnded && batch.status === "PENDING");
  return [
    ...faults.map((name) =>
      wrong(`batch ${batch.batchId} says ${batch[name]} ${name}, a recount ${recount[name]}`),
    ),
    ...(isStatusRight ? [] : [wrong(`batch ${batch.batchId} is ${batch.status}, and should be ${status}`)]),
  ];
}

function completionFaults({ batchId, isComplete }: BatchRow, audited: number): Violation[] {
  if (audited === (isComplete ? 1 : 0)) return [];
  const what = `batch ${batchId} is ${isComplete ? "" : "not "}complete, and the audit says so ${audited} times`;
  return [audited > 1 ? doubled(what) : wrong(what)];
}

/** A creator is told once, and not before the batch is complete. */
function callbackFaults(callbacks: readonly Callback[], batches: readonly BatchRow[]): Violation[] {
  const complete = new Set(batches.filter(({ isComplete }) => isComplete).map(({ batchId }) => batchId));
  const told = new Set<string>();
  return callbacks.flatMap(({ process, batchId, status }) => {
    const isRepeated = told.has(`${process} ${batchId}`);
    told.add(`${process} ${batchId}`);
    if (isRepeated) return [doubled(`${process} was told twice that batch ${batchId} is complete`)];
    const isTrue = complete.has(batchId) && status.startsWith("COMPLETED");
    return isTrue
      ? []
      : [wrong(`${process} was told that batch ${batchId} is complete when it was ${status}`)];
  });
}
