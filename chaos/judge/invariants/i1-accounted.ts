import type { AskedJob, Intent } from "../evidence.ts";
import type { CommandFacts, CommandRow, Facts, JobFacts } from "../facts.ts";
import type { Violation } from "../violation.ts";

const lost = (what: string): Violation => ({ invariant: "I1", kind: "lost", what });
const wrong = (what: string): Violation => ({ invariant: "I1", kind: "wrong", what });

/** I1: what was accepted is there, whole and in one place; what was refused is not; what is there was sent. */
export function checkAccounted({ evidence, commands, scheduler }: Facts): Violation[] {
  if (!commands) return [];
  const byId = new Map(commands.commands.map((command) => [command.commandId, command]));
  return [
    ...evidence.intents.flatMap((intent) => intentFaults(intent, byId)),
    ...placeFaults(commands),
    ...completionFaults(commands, byId),
    ...strangers(evidence.intents, commands, new Set(scheduler?.jobs.flatMap(runIdsOf))),
    ...evidence.jobs.flatMap((job) => jobFaults(job, scheduler?.jobs ?? [], byId)),
    ...strangeJobs(evidence.jobs, scheduler?.jobs ?? []),
  ];
}

function intentFaults(intent: Intent, byId: ReadonlyMap<string, CommandRow>): Violation[] {
  const found = intent.commands.flatMap(({ commandId }) => byId.get(commandId) ?? []);
  const missing = intent.commands.filter(({ commandId }) => !byId.has(commandId));
  if (intent.outcome === "refused")
    return found.map(({ commandId }) => wrong(`refused command ${commandId} is there`));
  if (intent.outcome === "unknown" && found.length === 0) return [];
  const batches = new Set(found.map(({ batchId }) => batchId));
  const isWhole = !intent.isBatch || (batches.size === 1 && !batches.has(null));
  return [
    ...missing.map(({ commandId }) => lost(`command ${commandId} was ${intent.outcome} and is not there`)),
    ...(isWhole ? [] : [wrong(`the batch of command ${found[0]?.commandId} is not whole`)]),
  ];
}

/** An unfinished command is in one place: a block of the queue, or a lease. In the end none is unfinished. */
function placeFaults({ commands, queued, leased }: CommandFacts): Violation[] {
  return commands.flatMap(({ id, commandId, status }) => {
    const [inQueue, inLease] = [queued.get(id) ?? 0, leased.get(id) ?? 0];
    if (status !== "PENDING")
      return inQueue > 0 ? [wrong(`command ${commandId} is ${status} and still queued`)] : [];
    const places = `${inQueue} times queued, ${inLease} times leased`;
    return [lost(`command ${commandId} was never finished: ${places}`)];
  });
}

function completionFaults({ batches }: CommandFacts, byId: ReadonlyMap<string, CommandRow>): Violation[] {
  return batches.flatMap(({ batchId, isComplete, completionId }) => {
    if (completionId === null || byId.has(completionId) === isComplete) return [];
    return [
      isComplete
        ? lost(`the completion command of batch ${batchId} is not there`)
        : wrong(`the completion command of batch ${batchId} came before its completion`),
    ];
  });
}

function strangers(
  intents: readonly Intent[],
  { commands }: CommandFacts,
  runIds: ReadonlySet<string>,
): Violation[] {
  const sent = new Set(
    intents.flatMap((intent) => [...intent.commands.map(({ commandId }) => commandId), intent.completionId]),
  );
  return commands
    .filter(({ commandId }) => !sent.has(commandId) && !runIds.has(commandId))
    .map(({ domain, commandId }) => wrong(`nobody sent command ${commandId} of ${domain}`));
}

function runIdsOf({ fires }: JobFacts): string[] {
  return fires.flatMap(({ runId }) => runId ?? []);
}

/** Each time of a job from its creation to its end has one fire, with its command. */
function jobFaults(
  asked: AskedJob,
  jobs: readonly JobFacts[],
  byId: ReadonlyMap<string, CommandRow>,
): Violation[] {
  const job = jobs.find(({ key }) => key === asked.key);
  if (!job) return asked.isAccepted ? [lost(`job ${asked.key} was accepted and is not there`)] : [];
  if (job.startMs !== asked.startMs) return []; // it was asked for again, and that counts
  const fires = new Map(job.fires.map((fire) => [fire.ms, fire]));
  const times = timesOf(asked, job.createdMs);
  const missed = times.filter((ms) => fires.get(ms)?.outcome !== "FIRED");
  const unsent = job.fires.filter(({ outcome, runId }) => outcome === "FIRED" && !byId.has(runId ?? ""));
  const known = new Set(times);
  const untimely = job.fires.filter(({ ms }) => ms > job.createdMs && !known.has(ms));
  return [
    ...(job.isOver ? [] : [lost(`job ${job.key} is not over`)]),
    ...missed.map((ms) => lost(`job ${job.key} did not fire at ${new Date(ms).toISOString()}`)),
    ...unsent.map(({ ms }) =>
      lost(`the command of job ${job.key} at ${new Date(ms).toISOString()} is not there`),
    ),
    ...untimely.map(({ ms }) =>
      wrong(`job ${job.key} fired at ${new Date(ms).toISOString()}, which is none of its times`),
    ),
  ];
}

function strangeJobs(asked: readonly AskedJob[], jobs: readonly JobFacts[]): Violation[] {
  const isAsked = (job: JobFacts) =>
    asked.some(({ key, startMs }) => key === job.key && startMs === job.startMs);
  return jobs.filter((job) => !isAsked(job)).map(({ key }) => wrong(`nobody asked for job ${key} as it is`));
}

function timesOf({ startMs, endMs, everyMs }: AskedJob, createdMs: number): number[] {
  const count = Math.ceil((endMs - startMs) / everyMs);
  return Array.from({ length: count }, (_, n) => startMs + n * everyMs).filter((ms) => ms > createdMs);
}
