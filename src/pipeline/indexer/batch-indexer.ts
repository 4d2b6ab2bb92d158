import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type BatchInfo, TickDataSchema } from "../../contracts/index.ts";
import { runSchemaName } from "../../database/index.ts";
import { toTallymanError } from "../../errors/index.ts";
import { type GivenOptions, type Logger, logger } from "../../runtime/index.ts";
import type { TopicMessage, TopicReader } from "../../topics/index.ts";
import { type FileStep, type Flush, TickBufferingComponent } from "../components/tick-buffering-component.ts";
import { Admission } from "./admission.ts";
import {
  type BatchIndexerComponents,
  type BatchIndexerResources,
  type ComponentType,
  createComponents,
} from "./batch-indexer-components.ts";
import {
  type BatchIndexerOptions,
  batchPathOf,
  resolveBatchIndexerOptions,
} from "./batch-indexer-options.ts";
import { Failures } from "./failures.ts";
import { FileIntake } from "./file-intake.ts";
import { FileReadError, FileReader } from "./file-reader.ts";
import { type FlushContext, Flusher, type FlushOutcome } from "./flusher.ts";
import type { FileChunk, IndexedFile } from "./indexed-file.ts";
import { Indexer, type RunScoped } from "./indexer.ts";
import { IndexerCounts } from "./indexer-counts.ts";
import { isOutage } from "./outage.ts";
import { Recovery } from "./recovery.ts";
import { registerGroup } from "./register-group.ts";
import { Renewal } from "./renewal.ts";

/** A chunk of a file is decoded at once; this bounds what is in memory beside the buffer. */
const chunkBytesMax = 4 * 1024 * 1024;

/**
 * Turns batch files into tables. The loop is final: a subclass says what it is made of
 * ({@link getRequiredComponents}) and writes ticks ({@link flushTicks}); claims, positions,
 * acknowledgements, retries and gaps are dealt with here.
 *
 * With COORDINATION every tick is written exactly once: what `flushTicks` does in its transaction
 * commits together with the position in the ledger and the acknowledgement. Without it, files may be
 * delivered again after a crash: then an indexer is safe only if writing a tick twice changes nothing.
 *
 * Any number of instances, in any number of processes, may work on one run; those of one class compete.
 *
 * @example
 * ```ts
 * class TickCounter extends BatchIndexer {
 *   protected override getRequiredComponents() {
 *     return new Set<ComponentType>(["METADATA", "COORDINATION", "BUFFERING"]);
 *   }
 *   protected override async flushTicks(ticks: readonly TickData[], { tx }: FlushContext) {
 *     await tx.query("UPDATE sim.tick_count SET ticks = ticks + $1", [ticks.length]);
 *   }
 * }
 * ```
 */
export abstract class BatchIndexer<Desc extends DescMessage = typeof TickDataSchema> extends Indexer {
  /** Tables of the run that this indexer alone writes, for `run reindex` and against two groups that share them. */
  protected readonly tables: readonly string[] = [];
  protected readonly options: Readonly<BatchIndexerOptions>;
  protected readonly log: Logger;
  readonly #components: BatchIndexerComponents<MessageShape<Desc>>;
  readonly #buffer: TickBufferingComponent<MessageShape<Desc>>;
  readonly #topic: TopicReader<BatchInfo> | undefined;
  readonly #admission: Admission;
  readonly #reader: FileReader<Desc>;
  readonly #flusher: Flusher<MessageShape<Desc>>;
  readonly #failures: Failures;
  readonly #counts = new IndexerCounts();
  #recovery: Recovery | undefined;
  #intake: FileIntake<Desc> | undefined;
  #renewal: Renewal | undefined;
  #prefetched: Promise<FileChunk<MessageShape<Desc>> | undefined> | undefined;

  /**
   * @param schema type of the files' records; TickData unless you index your own
   * @throws TallymanError INVALID_OPTION naming the option or the resource that is missing
   */
  constructor(
    name: string,
    resources: BatchIndexerResources,
    options: GivenOptions<BatchIndexerOptions> = {},
    schema: Desc = TickDataSchema as unknown as Desc,
  ) {
    const resolved = resolveBatchIndexerOptions(options);
    super(name, resources, resolved);
    this.options = resolved;
    this.log = logger(name);
    const { database, storage, deadLetters } = resources;
    const types = new Set(this.getRequiredComponents());
    if (resolved.enableIdempotency) types.add("IDEMPOTENCY");
    if (deadLetters) types.add("DLQ");
    this.#components = createComponents(this.indexerClass, types, resources, resolved);
    const { coordinator, idempotency, dlq, buffering } = this.#components;
    this.#topic = resolved.source === "topic" ? resources.topic : undefined;
    this.#buffer = buffering ?? new TickBufferingComponent({ ...resolved, flushTimeoutMs: 0 });
    const shared = { database, coordinator, topic: this.#topic };
    this.#admission = new Admission({ ...shared, idempotency });
    this.#reader = new FileReader(storage, schema, {
      recordsMax: resolved.insertBatchSize,
      bytesMax: Math.min(chunkBytesMax, resolved.bufferBytesMax),
    });
    this.#flusher = new Flusher({
      ...shared,
      idempotency,
      writeTicks: (ticks, context) => this.#writeTicks(ticks, context),
    });
    const { maxRetries, retryDelayMs } = resolved;
    this.#failures = new Failures({
      ...shared,
      serviceName: name,
      admission: this.#admission,
      dlq,
      deadLetters,
      maxRetries,
      retryDelayMs,
    });
  }

  /** What this indexer is made of. Called once, by the constructor. Default: METADATA and BUFFERING. */
  protected getRequiredComponents(): ReadonlySet<ComponentType> {
    return new Set<ComponentType>(["METADATA", "BUFFERING"]);
  }

  /**
   * Writes ticks, in the order of their files, in the transaction given. With BUFFERING many at a time,
   * from several files; without it one by one. Runs again after a rollback: no effects elsewhere.
   */
  protected abstract flushTicks(
    ticks: readonly MessageShape<Desc>[],
    context: FlushContext,
  ): Promise<void> | void;

  /** Names the ledger that all instances of this indexer share. Default: the name of the class. */
  protected get indexerClass(): string {
    return this.constructor.name;
  }

  override getMetrics(): Readonly<Record<string, number>> {
    return {
      ...this.#components.ownMetrics(),
      ...super.getMetrics(),
      ...this.#counts.values,
      batches_claimed: this.#admission.claimed.value,
      files_recovered: this.#recovery?.recovered.value ?? 0,
      current_buffer_size: this.#buffer.getBufferSize(),
      claimed_batches_pending: this.#admission.files.size,
      permanent_gaps_detected: this.#components.gapDetection?.getPermanentGapsDetected() ?? 0,
    };
  }

  protected override runScopedResources(): readonly RunScoped[] {
    return this.#components.runScoped;
  }

  protected override async indexRun(runId: string, signal: AbortSignal): Promise<void> {
    this.#intake ??= await this.#begin(runId, signal);
    this.#accept(await this.#take(this.#intake, signal));
    while (this.#buffer.shouldFlush()) await this.#flushNext(runId, signal);
  }

  /** Final flush; whole files are acknowledged, partial ones given back at once with their position. */
  protected override async onStop(): Promise<void> {
    this.#accept(await this.#prefetched?.catch(() => undefined));
    try {
      await this.#finalFlush();
    } finally {
      await this.#letGo();
    }
  }

  async #letGo(): Promise<void> {
    await this.#renewal?.stop();
    await this.#reader.close();
    await this.#giveBack();
    this.#summarise();
    this.#prefetched = undefined;
    this.#renewal = undefined;
    this.#intake = undefined;
  }

  async #begin(runId: string, signal: AbortSignal): Promise<FileIntake<Desc>> {
    const { coordinator, metadata, gapDetection } = this.#components;
    const { source, pollIntervalMs, sweepIntervalMs, stalledAfterMs } = this.options;
    const prefix = batchPathOf(runId, this.options.batchPath);
    const consumerGroup = this.#topic?.group ?? null;
    const group = { indexerClass: this.indexerClass, consumerGroup, tables: this.tables };
    await registerGroup(this.database.forRun(runSchemaName(runId)), group);
    await metadata?.loadMetadata(runId, signal);
    const admission = this.#admission;
    const topic = this.#topic;
    this.#renewal = new Renewal({
      admission,
      coordinator,
      topic,
      onLost: (filename) => this.#lose(filename),
    });
    this.#recovery =
      coordinator &&
      new Recovery({
        runId,
        coordinator,
        storage: this.storage,
        admission,
        gapDetection,
        metadata,
        stalledAfterMs,
        prefix,
        isOnlySource: source === "discovery",
      });
    return new FileIntake({
      admission,
      reader: this.#reader,
      topic,
      recovery: this.#recovery,
      gapIntervalMs: pollIntervalMs,
      sweepIntervalMs: source === "discovery" ? pollIntervalMs : sweepIntervalMs,
    });
  }

  /** The next chunk, perhaps fetched while the last flush committed; undefined when none came in time. */
  async #take(
    intake: FileIntake<Desc>,
    signal: AbortSignal,
  ): Promise<FileChunk<MessageShape<Desc>> | undefined> {
    const taking = this.#prefetched ?? intake.next(this.#pollTimeoutMs(), signal);
    this.#prefetched = undefined;
    return taking.catch(async (error: unknown) => {
      if (!(error instanceof FileReadError)) throw error;
      await this.#unreadable(error);
      return undefined;
    });
  }

  /** Into the buffer, unless the file was lost while the chunk was read ahead: nobody could flush it any more. */
  #accept(chunk: FileChunk<MessageShape<Desc>> | undefined): void {
    if (!chunk || this.#admission.files.get(chunk.file.filename) !== chunk.file) return;
    this.#buffer.add(chunk);
    this.#counts.observed.increment(chunk.records.length);
    const bufferSize = this.#buffer.getBufferSize();
    this.log.debug("Buffered", { key: chunk.file.storageKey, ticks: chunk.records.length, bufferSize });
  }

  #prefetch(signal: AbortSignal): void {
    if (!this.#intake || this.#prefetched || signal.aborted) return;
    this.#prefetched = this.#intake.next(0, signal);
    this.#prefetched.catch(() => undefined);
  }

  #pollTimeoutMs(): number {
    const { flushTimeoutMs, topicPollTimeoutMs } = this.options;
    const timeoutMs = this.#components.buffering ? flushTimeoutMs : topicPollTimeoutMs;
    return Math.max(0, Math.min(timeoutMs, this.#buffer.msUntilFlush()));
  }

  async #flushNext(runId: string, signal: AbortSignal): Promise<void> {
    const flush = this.#buffer.nextFlush();
    this.#prefetch(signal);
    for (;;) {
      const outcome = await this.#flusher.flush(runId, flush);
      if (outcome.kind !== "outage") return this.#settle(runId, flush, outcome);
      await this.waitOut(outcome.error, signal);
    }
  }

  async #settle(runId: string, flush: Flush<MessageShape<Desc>>, outcome: FlushOutcome): Promise<void> {
    if (outcome.kind === "committed") await this.#committed(flush, outcome.acknowledged);
    if (outcome.kind === "lost") for (const file of outcome.files) await this.#lose(file.filename);
    if (outcome.kind === "failed") await this.#flushSingly(runId, flush);
  }

  async #committed(
    flush: Flush<MessageShape<Desc>>,
    acknowledged: readonly TopicMessage<BatchInfo>[],
  ): Promise<void> {
    this.#buffer.remove(flush);
    this.#counts.ticks.increment(flush.ticks.length);
    this.log.debug("Flushed", { ticks: flush.ticks.length, files: flush.steps.length });
    for (const step of flush.steps) if (step.completes) await this.#completed(step, acknowledged);
  }

  async #completed({ file }: FileStep, acknowledged: readonly TopicMessage<BatchInfo>[]): Promise<void> {
    const { coordinator, idempotency } = this.#components;
    this.#admission.files.delete(file.filename);
    this.#counts.batches.increment();
    coordinator?.settleClaims([file.filename]);
    if (file.message && !acknowledged.includes(file.message)) await this.#acknowledgeLate(file);
    if (!idempotency?.isTransactional) await idempotency?.markProcessed(file.storageKey);
    await this.#failures.succeeded(file);
  }

  /** After the commit, where it was not part of it: an ack that gets lost brings the file again, and it is done. */
  async #acknowledgeLate(file: IndexedFile): Promise<void> {
    await this.#admission.acknowledge(file.message).catch((error: unknown) => {
      this.log.debug("Not acknowledged, will be delivered again", {
        key: file.storageKey,
        reason: String(error),
      });
    });
  }

  /** Some file is at fault: each is flushed by itself, as if its rows might exist, and those that fail are dealt with. */
  async #flushSingly(runId: string, flush: Flush<MessageShape<Desc>>): Promise<void> {
    for (const step of flush.steps) {
      const single = this.#buffer.flushOf(flush, step);
      const outcome = await this.#flusher.flush(runId, single, true);
      if (outcome.kind === "failed") await this.#fail(step.file, outcome.error);
      else if (outcome.kind === "outage") return;
      else await this.#settle(runId, single, outcome);
    }
  }

  /** @throws the outage that kept the file from being read: it is not the file's fault */
  async #unreadable({ file, cause }: FileReadError): Promise<void> {
    if (!isOutage(cause)) return this.#fail(file, cause);
    await this.#lose(file.filename);
    throw cause;
  }

  async #fail(file: IndexedFile, error: unknown): Promise<void> {
    const { message } = toTallymanError(error);
    this.errors.add({
      code: "INDEX_FAILED",
      message: "Failed to index batch",
      details: `${file.storageKey}: ${message}`,
    });
    await this.#forget(file.filename);
    const outcome = await this.#failures.fail(file, error);
    if (outcome === "moved") this.#counts.deadLettered.increment();
  }

  /** The file is somebody else's, or will be: what we hold of it is dropped, and our claim, if any is left, given back. */
  async #lose(filename: string): Promise<void> {
    const file = this.#admission.files.get(filename);
    if (!file) return;
    this.#counts.lost.increment();
    this.log.debug("Claim lost", { filename });
    // First of all: while the reader leaves the file, chunks of it may come that were read ahead.
    this.#admission.files.delete(filename);
    await this.#forget(filename);
    await this.#components.coordinator?.releaseClaims([filename]).catch(() => undefined);
    await this.#admission.handBack(file.message, 0).catch(() => undefined);
  }

  async #forget(filename: string): Promise<void> {
    this.#buffer.drop(filename);
    await this.#reader.drop(filename);
  }

  async #writeTicks(ticks: readonly MessageShape<Desc>[], context: FlushContext): Promise<void> {
    if (this.#components.buffering) return this.flushTicks(ticks, context);
    for (const tick of ticks) await this.flushTicks([tick], context);
  }

  async #finalFlush(): Promise<void> {
    while (this.runId !== undefined && !this.#buffer.isEmpty()) {
      const flush = this.#buffer.nextFlush();
      const outcome = await this.#flusher.flush(this.runId, flush);
      if (outcome.kind === "outage") {
        this.log.warn(`Stopped without the final flush: ${toTallymanError(outcome.error).message}`);
        return;
      }
      await this.#settle(this.runId, flush, outcome);
    }
  }

  #summarise(): void {
    if (this.runId === undefined) return;
    const { ticks, batches } = this.#counts;
    this.log.info(
      `Indexed ${ticks.value} ticks and ended ${batches.value} files of run ${this.runId} so far.`,
    );
  }

  async #giveBack(): Promise<void> {
    const files = [...this.#admission.files.values()];
    this.#admission.files.clear();
    for (const { filename } of files) this.#buffer.drop(filename);
    try {
      await this.#components.coordinator?.releaseClaims(files.map(({ filename }) => filename));
      for (const { message } of files) await this.#admission.handBack(message, 0);
      await this.#intake?.giveBack();
    } catch (error) {
      this.log.debug("Claims not given back, they run out", { reason: String(error) });
    }
  }
}
