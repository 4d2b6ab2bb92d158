import { TallymanError } from "../../errors/index.ts";
import { type Clock, logger, systemClock } from "../../runtime/index.ts";
import type { BatchStorage } from "../../storage/index.ts";

const log = logger("pipeline.run-discovery");

/**
 * How far the time of a run may be behind this machine's: object stores keep whole seconds, file systems the
 * kernel's last tick. A run that begins together with the service must not be taken for an older one.
 */
const storageLagMs = 1_000;

/** Which run to index, and how long to wait for it. */
export interface RunDiscoveryOptions {
  /** The run; without it, the first one that begins after the service. */
  readonly runId?: string | undefined;
  readonly pollIntervalMs: number;
  readonly maxPollDurationMs: number;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/**
 * Finds the run to index: the configured one as soon as storage has anything of it, or else the first
 * that began after `since`, as far as the storage's clock can tell.
 *
 * @throws TallymanError RUN_NOT_FOUND when none came in time, ABORTED
 */
export async function discoverRun(
  storage: Pick<BatchStorage, "listRunIds" | "place">,
  since: Date,
  options: RunDiscoveryOptions,
  signal?: AbortSignal,
): Promise<string> {
  const { runId, pollIntervalMs, maxPollDurationMs, clock = systemClock } = options;
  const deadlineMs = clock.monotonicMs() + maxPollDurationMs;
  for (let isFirst = true; ; isFirst = false) {
    const found = await findRun(storage, since, runId);
    if (found !== undefined) return found;
    if (isFirst) log.info(runId ? `Waiting for run ${runId}.` : "Waiting for a run to begin.");
    if (clock.monotonicMs() >= deadlineMs) throw notFound(storage.place, options);
    await clock.sleep(pollIntervalMs, signal);
  }
}

async function findRun(
  storage: Pick<BatchStorage, "listRunIds">,
  since: Date,
  runId: string | undefined,
): Promise<string | undefined> {
  if (runId === undefined) return (await storage.listRunIds(new Date(since.getTime() - storageLagMs)))[0];
  return (await storage.listRunIds()).find((known) => known === runId);
}

function notFound(place: string, { runId, maxPollDurationMs }: RunDiscoveryOptions): TallymanError {
  const what = runId ? `Run ${runId} has no files in ${place}` : `No run began in ${place}`;
  return new TallymanError(
    "RUN_NOT_FOUND",
    `${what} after ${maxPollDurationMs} ms of waiting (maxPollDurationMs). 'tallyman run list' shows the runs that exist.`,
    { details: { runId, waitedMs: maxPollDurationMs } },
  );
}
