import { SimulationMetadataSchema } from "../contracts/index.ts";
import { isTallymanError } from "../errors/index.ts";
import type { BatchFile, BatchFileName } from "./batch-file.ts";
import type { BatchStorage } from "./batch-storage.ts";
import { metadataKey } from "./message-file.ts";

/** Ticks of a run, both ends included. */
export interface TickRange {
  readonly tickStart: number;
  readonly tickEnd: number;
}

/** A file that can't be read, and why. */
export interface UnreadableFile {
  readonly key: string;
  readonly reason: string;
}

/** What lies in storage of one run. */
export interface RunContents {
  readonly runId: string;
  /** From the run's metadata in storage; 1 when there is none. */
  readonly samplingInterval: number;
  readonly files: number;
  readonly bytes: number;
  readonly records: number;
  /** First and last tick of the files; undefined when there are none. */
  readonly ticks: TickRange | undefined;
  /** Ranges between the first and the last tick that no file covers; the first thousand. */
  readonly holes: readonly TickRange[];
  readonly holesTotal: number;
  /** Files that are damaged or vanished; the first thousand. */
  readonly unreadable: readonly UnreadableFile[];
  readonly unreadableTotal: number;
  /** The files that can be read, in tick order; the first thousand. */
  readonly fileList: readonly BatchFile[];
}

/** How closely to look. */
export interface InspectRunOptions {
  /** Read every byte of every file, instead of its two ends. Default false. */
  readonly verify?: boolean;
  /** Ticks from one sample to the next. Default: what the run's metadata says, or 1. */
  readonly samplingInterval?: number;
}

const readsAtOnce = 8;
/** Groups of reads in a page of file names. */
const pageReads = 125;
const listedMax = 1_000;

/**
 * Goes through all files of a run: how many, how large, which ticks they cover and which they leave
 * out. Holds one page of file names at a time, whatever the size of the run.
 *
 * @example
 * ```ts
 * const { files, holes } = await inspectRun(storage, "run-1");
 * ```
 */
export async function inspectRun(
  storage: BatchStorage,
  runId: string,
  options: InspectRunOptions = {},
): Promise<RunContents> {
  const samplingInterval = options.samplingInterval ?? (await samplingIntervalOf(storage, runId));
  const coverage = new Coverage(samplingInterval);
  const files = new CappedList<BatchFile>();
  const unreadable = new CappedList<UnreadableFile>();
  const totals = { bytes: 0, records: 0 };
  for await (const file of examined(storage, runId, options)) {
    coverage.add(file);
    if ("reason" in file) unreadable.add({ key: file.key, reason: file.reason });
    else {
      files.add(file);
      totals.bytes += file.bytes;
      totals.records += file.records;
    }
  }
  return {
    runId,
    samplingInterval,
    files: files.total + unreadable.total,
    ...totals,
    ticks: coverage.ticks,
    holes: coverage.holes.items,
    holesTotal: coverage.holes.total,
    unreadable: unreadable.items,
    unreadableTotal: unreadable.total,
    fileList: files.items,
  };
}

/** Which ticks files cover, given in tick order. */
class Coverage {
  readonly holes = new CappedList<TickRange>();
  readonly #samplingInterval: number;
  #ticks: TickRange | undefined;

  constructor(samplingInterval: number) {
    this.#samplingInterval = samplingInterval;
  }

  get ticks(): TickRange | undefined {
    return this.#ticks;
  }

  add({ tickStart, tickEnd }: TickRange): void {
    const before = this.#ticks ?? { tickStart, tickEnd: tickStart - this.#samplingInterval };
    const expected = before.tickEnd + this.#samplingInterval;
    if (tickStart > expected)
      this.holes.add({ tickStart: expected, tickEnd: tickStart - this.#samplingInterval });
    this.#ticks = { tickStart: before.tickStart, tickEnd: Math.max(before.tickEnd, tickEnd) };
  }
}

/** Counts everything, keeps the beginning. */
class CappedList<T> {
  readonly items: T[] = [];
  total = 0;

  add(item: T): void {
    this.total++;
    if (this.items.length < listedMax) this.items.push(item);
  }
}

type Examined = BatchFile | (BatchFileName & UnreadableFile);

/** Every file of the run in tick order, looked into; a few at the same time. */
async function* examined(
  storage: BatchStorage,
  runId: string,
  options: InspectRunOptions,
): AsyncGenerator<Examined> {
  for (let token: string | undefined; ; ) {
    const { files, nextToken, truncated } = await storage.listBatchFiles(
      runId,
      token,
      readsAtOnce * pageReads,
    );
    for (let at = 0; at < files.length; at += readsAtOnce)
      yield* await Promise.all(
        files.slice(at, at + readsAtOnce).map((file) => examine(storage, file, options)),
      );
    if (!truncated) return;
    token = nextToken;
  }
}

async function examine(
  storage: BatchStorage,
  file: BatchFileName,
  { verify = false }: InspectRunOptions,
): Promise<Examined> {
  try {
    if (!verify) return await storage.describeBatch(file.key);
    await using batch = await storage.openBatch(file.key);
    return batch.file;
  } catch (error) {
    if (isTallymanError(error, "BATCH_CORRUPT") || isTallymanError(error, "STORAGE_FILE_NOT_FOUND"))
      return { ...file, reason: error.message };
    throw error;
  }
}

async function samplingIntervalOf(storage: BatchStorage, runId: string): Promise<number> {
  try {
    const metadata = await storage.readMessage(metadataKey(runId), SimulationMetadataSchema);
    return Math.max(1, metadata.samplingInterval ?? 1);
  } catch (error) {
    if (isTallymanError(error, "STORAGE_FILE_NOT_FOUND")) return 1;
    throw error;
  }
}
