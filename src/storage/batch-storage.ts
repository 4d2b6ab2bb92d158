import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type TickData, TickDataSchema } from "../contracts/index.ts";
import { validateRunId } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import type { Monitorable, OperationalError } from "../monitoring/index.ts";
import { type GivenOptions, oneOf, resolveOptions, wholeNumber } from "../runtime/index.ts";
import {
  type BatchFile,
  type BatchFileName,
  batchNameOf,
  parseBatchKey,
  validateRange,
} from "./batch-file.ts";
import { findLast, type ListingRange, listInTickOrder } from "./batch-listing.ts";
import { BatchReader } from "./batch-reader.ts";
import { type CodecName, codecNames } from "./block-codec.ts";
import { readSummary, verifyFile } from "./decode-file.ts";
import type { Records } from "./encode-file.ts";
import { heldInMemory } from "./held-in-memory.ts";
import { type MessageFile, readMessageFile, validateMessageKey, writeMessageFile } from "./message-file.ts";
import { abortable, encodedRecords } from "./records.ts";
import type { StorageDriver } from "./storage-driver.ts";
import { StorageMetrics } from "./storage-metrics.ts";
import { batchFile, refuseStranger, writeBatchOnce } from "./write-batch.ts";

/** Settings that every storage has. */
export interface BatchStorageOptions {
  /** How new batch files are compressed: none, gzip or brotli. Files of every codec are read. Default brotli. */
  readonly codec: CodecName;
  /** Largest file, uncompressed, that readBatch loads. Default 256 MiB. */
  readonly readBytesMax: number;
  /** Window of the latency percentiles, in seconds. Default 5. */
  readonly metricsWindowSeconds: number;
}

/** Defaults of {@link BatchStorageOptions}. */
export const batchStorageDefaults: BatchStorageOptions = {
  codec: "brotli",
  readBytesMax: 256 * 1024 * 1024,
  metricsWindowSeconds: 5,
};

/** How to write a batch. */
export interface WriteBatchOptions<S extends DescMessage | undefined = undefined> {
  /** The records' type, when they are messages; also of messages that are encoded already. */
  readonly schema?: S;
  /** Ends the write; nothing becomes visible. */
  readonly signal?: AbortSignal;
}

/** One page of a listing. */
export interface BatchFilePage {
  /** In tick order: by first tick, then last tick, then key. */
  readonly files: readonly BatchFileName[];
  /** Where the next page begins, now or later; undefined only while there was no file at all. */
  readonly nextToken: string | undefined;
  /** True when more files were there already. */
  readonly truncated: boolean;
}

/** Most files in one page. */
const listLimitMax = 10_000;

/**
 * Batch files and messages of simulation runs, on any {@link StorageDriver}. All methods are safe to
 * call at the same time, from any number of processes on the same storage.
 *
 * @example
 * ```ts
 * const storage = new FileSystemStorage({ rootDirectory: ".tallyman/storage" });
 * const file = await storage.writeBatch("run-1", 0, 999, ticks, { schema: TickDataSchema });
 * const { files } = await storage.listBatchFiles("run-1/", undefined, 100);
 * const sameTicks = await storage.readBatch(file.key);
 * ```
 */
export class BatchStorage implements Monitorable, AsyncDisposable {
  readonly #driver: StorageDriver;
  readonly #options: Readonly<BatchStorageOptions>;
  readonly #metrics: StorageMetrics;

  constructor(driver: StorageDriver, options: GivenOptions<BatchStorageOptions> = {}) {
    this.#driver = driver;
    this.#options = resolveOptions<BatchStorageOptions>(batchStorageDefaults, options, {
      codec: oneOf(...codecNames),
    });
    this.#metrics = new StorageMetrics(this.#options.metricsWindowSeconds);
  }

  /** Where the files lie, for people: the root folder, or the bucket. */
  get place(): string {
    return this.#driver.place;
  }

  /**
   * Writes one batch: all of it or nothing, durable when the promise resolves.
   *
   * A tick range of a run has one file, and a file never changes. Writing the same records again, after
   * a crash or from a second producer, returns the file that is there; other records are refused. Only
   * a file that is damaged is replaced.
   *
   * @param firstTick - first tick, included
   * @param lastTick - last tick, included
   * @param records - bytes; or messages, with `schema`. Taken one by one, so they may be more than
   * memory holds. TickData must be of this run and range; that of encoded ones is the caller's to know
   * @throws TallymanError BATCH_INVALID, BATCH_CONFLICT, RUN_ID_INVALID, STORAGE_FULL,
   * STORAGE_UNAVAILABLE, STORAGE_FILE_TOO_LARGE (a record), ABORTED; whatever `records` throws
   */
  writeBatch(
    runId: string,
    firstTick: number,
    lastTick: number,
    records: Records<Uint8Array>,
    options?: WriteBatchOptions,
  ): Promise<BatchFile>;
  writeBatch<S extends DescMessage>(
    runId: string,
    firstTick: number,
    lastTick: number,
    records: Records<MessageShape<S> | Uint8Array>,
    options: WriteBatchOptions<S> & { readonly schema: S },
  ): Promise<BatchFile>;
  async writeBatch(
    runId: string,
    firstTick: number,
    lastTick: number,
    records: Records<never>,
    { schema, signal }: WriteBatchOptions<DescMessage | undefined> = {},
  ): Promise<BatchFile> {
    const range = { runId: validateRunId(runId), tickStart: firstTick, tickEnd: lastTick };
    validateRange(firstTick, lastTick);
    const encoded = schema ? encodedRecords(records, schema, range) : records;
    const batch = {
      ...range,
      codec: this.#options.codec,
      typeName: schema?.typeName ?? "",
      records: signal ? abortable(encoded, signal) : encoded,
    };
    const details = `Run: ${runId}, ticks: ${firstTick}-${lastTick}`;
    const file = await this.#metrics.run(this.#metrics.writeBatch, details, () =>
      writeBatchOnce(this.#driver, batch),
    );
    this.#metrics.written(file);
    return file;
  }

  /**
   * All messages of a batch, decoded; TickData unless another schema is given.
   *
   * @throws CorruptBatchError, and then no message at all; TallymanError STORAGE_FILE_NOT_FOUND,
   * STORAGE_FILE_TOO_LARGE (then use {@link openBatch}), BATCH_INVALID (records of another type),
   * STORAGE_KEY_INVALID, STORAGE_UNAVAILABLE
   */
  readBatch(key: string): Promise<TickData[]>;
  readBatch<S extends DescMessage>(key: string, schema: S): Promise<MessageShape<S>[]>;
  async readBatch(key: string, schema: DescMessage = TickDataSchema): Promise<unknown[]> {
    await using batch = await this.openBatch(key);
    this.#refuseLarge(key, batch.file.rawBytes);
    const messages: unknown[] = [];
    for await (const { message } of batch.messages(schema)) messages.push(message);
    return messages;
  }

  /**
   * Opens a batch for streaming, after a first pass over all its bytes has proved it whole.
   *
   * @throws CorruptBatchError; TallymanError STORAGE_FILE_NOT_FOUND, STORAGE_KEY_INVALID,
   * STORAGE_UNAVAILABLE
   */
  async openBatch(key: string): Promise<BatchReader> {
    const name = batchNameOf(key);
    const reader = await this.#metrics.run(this.#metrics.readBatch, `Key: ${key}`, async () => {
      const source = await heldInMemory(await this.#driver.open(key));
      try {
        const { header, trailer } = await verifyFile(key, source);
        refuseStranger(name, header);
        return new BatchReader(batchFile(name, trailer, source.writtenAtMs), header.typeName, source);
      } catch (error) {
        await source.close();
        throw error;
      }
    });
    this.#metrics.read(reader.file);
    return reader;
  }

  /**
   * What a batch file says about itself: size, checksum, records. Reads its two ends only, and so is no
   * proof that the file is whole.
   *
   * @throws as {@link openBatch}
   */
  async describeBatch(key: string): Promise<BatchFile> {
    const name = batchNameOf(key);
    const source = await this.#driver.open(key);
    try {
      const { header, trailer } = await readSummary(key, source);
      refuseStranger(name, header);
      return batchFile(name, trailer, source.writtenAtMs);
    } finally {
      await source.close();
    }
  }

  /**
   * The batch files of one run in tick order, page by page.
   *
   * A token is a place in tick order, not a snapshot: it stays good for ever, and the next page holds
   * the files behind that place as they are then. So a file that appears behind the place is seen,
   * whenever it appears; a file that appears before it is not seen by this continuation, and is found by
   * listing its range, or from the beginning. No file is returned twice.
   *
   * @param prefix - a run id, or the beginning of keys: `<run>/`, `<run>/raw/`
   * @param token - `nextToken` of the page before; undefined for the first page
   * @param limit - files in the page, 1 to 10,000
   * @param startTick - leave out files that end before it
   * @param endTick - leave out files that begin after it
   * @throws TallymanError STORAGE_TOKEN_INVALID (also: of another run), BATCH_INVALID (inverted range),
   * INVALID_OPTION, RUN_ID_INVALID, STORAGE_UNAVAILABLE
   */
  async listBatchFiles(
    prefix: string,
    token: string | undefined,
    limit: number,
    startTick = 0,
    endTick = Number.MAX_SAFE_INTEGER,
  ): Promise<BatchFilePage> {
    const runId = validateRunId(prefix.split("/", 1)[0] ?? "");
    validateRange(startTick, endTick);
    refuseLimit(limit);
    const after = token === undefined ? undefined : placeOf(token, runId);
    const range = { startTick, endTick, after };
    return this.#metrics.run(this.#metrics.listFiles, `Prefix: ${prefix}`, async () => {
      const found = await this.#collect(prefix === runId ? `${runId}/` : prefix, runId, range, limit + 1);
      const files = found.slice(0, limit);
      this.#metrics.filesListed.increment(files.length);
      return { files, nextToken: files.at(-1)?.key ?? token, truncated: found.length > limit };
    });
  }

  /** The run's file that ends at the highest tick; undefined when the run has none. */
  async findLastBatchFile(runId: string): Promise<BatchFileName | undefined> {
    validateRunId(runId);
    return this.#metrics.run(this.#metrics.listFiles, `Last of run: ${runId}`, () =>
      findLast(this.#driver, runId),
    );
  }

  /**
   * The runs that have files, the oldest first.
   *
   * @param after - only runs whose first file appeared later than this, by the storage's clock
   */
  async listRunIds(after?: Date): Promise<string[]> {
    const afterMs = after?.getTime() ?? Number.NEGATIVE_INFINITY;
    const runs = await this.#metrics.run(this.#metrics.listFiles, "Runs", () => this.#driver.listRuns());
    return runs
      .filter((run) => run.firstWrittenAtMs > afterMs)
      .sort((a, b) => a.firstWrittenAtMs - b.firstWrittenAtMs || (a.runId < b.runId ? -1 : 1))
      .map(({ runId }) => runId);
  }

  /**
   * Writes one message, such as a run's metadata, under a key of the caller's choice. A message that is
   * there is replaced as a whole: readers see the old one or the new one.
   *
   * @param key - `<run>/<name>`, not that of a batch file; an extension `.br` or `.gz` compresses it
   * @throws TallymanError STORAGE_KEY_INVALID, STORAGE_FULL, STORAGE_UNAVAILABLE
   */
  async writeMessage<S extends DescMessage>(
    key: string,
    schema: S,
    message: MessageShape<S>,
  ): Promise<MessageFile> {
    validateMessageKey(key);
    return this.#metrics.run(this.#metrics.writeMessage, `Key: ${key}`, () =>
      writeMessageFile(this.#driver, key, schema, message),
    );
  }

  /**
   * Reads a message back.
   *
   * @throws CorruptBatchError; TallymanError STORAGE_FILE_NOT_FOUND, BATCH_INVALID (another type),
   * STORAGE_KEY_INVALID, STORAGE_UNAVAILABLE
   */
  async readMessage<S extends DescMessage>(key: string, schema: S): Promise<MessageShape<S>> {
    validateMessageKey(key);
    return this.#metrics.run(this.#metrics.readMessage, `Key: ${key}`, async () => {
      const source = await heldInMemory(await this.#driver.open(key));
      try {
        return await readMessageFile(key, source, schema);
      } finally {
        await source.close();
      }
    });
  }

  getMetrics(): Readonly<Record<string, number>> {
    return this.#metrics.values();
  }

  /** False after an operation failed for the storage's sake (full, unreachable), until one succeeds. */
  isHealthy(): boolean {
    return this.#metrics.healthy;
  }

  getErrors(): readonly OperationalError[] {
    return this.#metrics.errors.list();
  }

  clearErrors(): void {
    this.#metrics.errors.clear();
  }

  /** Releases the driver's connections. Safe to call twice. */
  close(): Promise<void> {
    return this.#driver.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #collect(
    prefix: string,
    runId: string,
    range: ListingRange,
    filesMax: number,
  ): Promise<BatchFileName[]> {
    const files: BatchFileName[] = [];
    for await (const group of listInTickOrder(this.#driver, runId, range)) {
      for (const file of group) if (file.key.startsWith(prefix)) files.push(file);
      if (files.length >= filesMax) break;
    }
    return files.slice(0, filesMax);
  }

  #refuseLarge(key: string, rawBytes: number): void {
    const { readBytesMax } = this.#options;
    if (rawBytes <= readBytesMax) return;
    throw new TallymanError(
      "STORAGE_FILE_TOO_LARGE",
      `${key} holds ${rawBytes} bytes of records, more than readBytesMax (${readBytesMax}). Stream it with openBatch.`,
      { details: { key, rawBytes, readBytesMax } },
    );
  }
}

/** A token is the key of the last file returned: a place that no later file can shift. */
function placeOf(token: string, runId: string): BatchFileName {
  const place = parseBatchKey(token);
  if (place?.runId === runId) return place;
  throw new TallymanError(
    "STORAGE_TOKEN_INVALID",
    `'${String(token).slice(0, 120)}' does not continue a listing of run '${runId}'.`,
    { details: { runId } },
  );
}

function refuseLimit(limit: number): void {
  const fault = wholeNumber({ max: listLimitMax })(limit);
  if (fault === undefined) return;
  throw new TallymanError("INVALID_OPTION", `The limit of a listing must be ${fault}, but is ${limit}.`, {
    details: { limit },
  });
}
