import { TallymanError } from "../../errors/index.ts";
import { type GivenOptions, type OptionDefaults, oneOf, resolveOptions } from "../../runtime/index.ts";

/** Settings of a batch indexer, by the names that the configuration file has. */
export interface BatchIndexerOptions {
  /** The run to index. Default: the first one that begins after the service. */
  readonly runId?: string | undefined;
  /** How often to look for the run, for gaps, and (`discovery`) for files. Default 1 s. */
  readonly pollIntervalMs: number;
  /** How long to wait for the run. Default 5 min. */
  readonly maxPollDurationMs: number;
  /** How often to look for the metadata. Default 1 s. */
  readonly metadataPollIntervalMs: number;
  /** How long to wait for the metadata. Default 5 min. */
  readonly metadataMaxPollDurationMs: number;
  /** Where files come from: `topic` announces them, `discovery` lists storage. Default `topic`. */
  readonly source: "topic" | "discovery";
  /** How long one poll waits; with buffering it is never longer than flushTimeoutMs. Default 5 s. */
  readonly topicPollTimeoutMs: number;
  /** How often to look for files that were never announced. Default 30 s. */
  readonly sweepIntervalMs: number;
  /** How long a stalled connection may lock a file past its lease before others end it. Default 60 s. */
  readonly stalledAfterMs: number;
  /** Which of the run's files to find: those whose keys begin so. Default `<runId>/`, all of them. */
  readonly batchPath?: string | undefined;
  /** Ticks of one insert, whatever the size of the files. Default 1,000. */
  readonly insertBatchSize: number;
  /** How long a tick waits in the buffer. Default 5 s. */
  readonly flushTimeoutMs: number;
  /** Encoded size at which the buffer is flushed, however few ticks it holds. Default 16 MiB. */
  readonly bufferBytesMax: number;
  /** How long a gap is searched before it is given up. Default 60 s. */
  readonly gapWarningTimeoutMs: number;
  /** Failures of a file after which it is still tried again. Default 3. */
  readonly maxRetries: number;
  /** How long a failed file waits before it is tried again; doubled each time. Default 1 s. */
  readonly retryDelayMs: number;
  /** Adds IDEMPOTENCY to what the indexer is made of. Default false. */
  readonly enableIdempotency: boolean;
}

const defaults: OptionDefaults<BatchIndexerOptions> = {
  runId: undefined,
  pollIntervalMs: 1_000,
  maxPollDurationMs: 300_000,
  metadataPollIntervalMs: 1_000,
  metadataMaxPollDurationMs: 300_000,
  source: "topic",
  topicPollTimeoutMs: 5_000,
  sweepIntervalMs: 30_000,
  stalledAfterMs: 60_000,
  batchPath: undefined,
  insertBatchSize: 1_000,
  flushTimeoutMs: 5_000,
  bufferBytesMax: 16 * 1024 * 1024,
  gapWarningTimeoutMs: 60_000,
  maxRetries: 3,
  retryDelayMs: 1_000,
  enableIdempotency: false,
};

/** Fills in the defaults. @throws TallymanError INVALID_OPTION naming the option */
export function resolveBatchIndexerOptions(
  given: GivenOptions<BatchIndexerOptions>,
): Readonly<BatchIndexerOptions> {
  return resolveOptions<BatchIndexerOptions>(defaults, given, {
    source: oneOf("topic", "discovery"),
  });
}

/** The beginning of the keys that are looked for. @throws TallymanError INVALID_OPTION for one outside the run */
export function batchPathOf(runId: string, batchPath = `${runId}/`): string {
  if (batchPath.startsWith(`${runId}/`)) return batchPath;
  throw new TallymanError(
    "INVALID_OPTION",
    `Option 'batchPath' must begin with '${runId}/', where the run's files lie, but is '${batchPath}'.`,
    { details: { option: "batchPath" } },
  );
}
