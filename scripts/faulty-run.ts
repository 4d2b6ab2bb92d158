import { create } from "@bufbuild/protobuf";
import type { Tallyman } from "../src/app/index.ts";
import { BatchInfoSchema, SimulationMetadataSchema, TickDataSchema } from "../src/contracts/index.ts";
import { createBatchCoordinator, MetadataWriter } from "../src/coordination/index.ts";
import { DummyIndexer, newRunId } from "../src/pipeline/index.ts";
import { FileSystemStorage } from "../src/storage/index.ts";

const ticksPerFile = 100;
const topic = "field-recordings";
/** First ticks of files that nobody wrote: the first gap is old when the second is found. */
const lost = new Set([2_300, 2_400, 6_100, 6_200, 6_300]);
const half = 4_000;
const end = 9_000;

/** A run whose producer has lost files, for a picture of its gaps. */
export class FaultyRun implements AsyncDisposable {
  readonly runId = newRunId(Date.now());
  readonly #tallyman: Tallyman;
  readonly #storage: FileSystemStorage;
  #indexer: DummyIndexer | undefined;

  private constructor(tallyman: Tallyman, rootDirectory: string) {
    this.#tallyman = tallyman;
    this.#storage = new FileSystemStorage({ rootDirectory });
  }

  /** Writes and indexes the first half. */
  static async start(tallyman: Tallyman, rootDirectory: string): Promise<FaultyRun> {
    const run = new FaultyRun(tallyman, rootDirectory);
    const { runId } = run;
    const metadata = create(SimulationMetadataSchema, { simulationRunId: runId, samplingInterval: 1 });
    await new MetadataWriter(tallyman.database).insertMetadata(runId, metadata);
    await run.#write(0, half);
    await run.#index();
    return run;
  }

  /** Writes the second half. */
  async goOn(): Promise<void> {
    await this.#write(half, end);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#indexer?.stop();
    await this.#storage[Symbol.asyncDispose]();
  }

  async #index(): Promise<void> {
    const { database, topics } = this.#tallyman;
    const resources = {
      storage: this.#storage,
      database,
      topic: await topics.reader(BatchInfoSchema, { topic, group: "recordings" }),
      coordinator: createBatchCoordinator(database),
    };
    const options = {
      runId: this.runId,
      pollIntervalMs: 200,
      sweepIntervalMs: 1_000,
      gapWarningTimeoutMs: 80_000,
    };
    this.#indexer = new DummyIndexer("recordings-indexer", resources, options);
    await this.#indexer.start();
  }

  async #write(from: number, to: number): Promise<void> {
    const writer = await this.#tallyman.topics.writer(BatchInfoSchema, { topic, runId: this.runId });
    for (let first = from; first < to; first += ticksPerFile) {
      if (lost.has(first)) continue;
      const ticks = Array.from({ length: ticksPerFile }, (_, index) =>
        create(TickDataSchema, { tickNumber: BigInt(first + index), simulationRunId: this.runId }),
      );
      const last = first + ticksPerFile - 1;
      const file = await this.#storage.writeBatch(this.runId, first, last, ticks, { schema: TickDataSchema });
      const announcement = {
        simulationRunId: this.runId,
        storageKey: file.key,
        tickStart: BigInt(first),
        tickEnd: BigInt(last),
        bytes: BigInt(file.bytes),
        crc: file.crc,
        writtenAtMs: BigInt(file.writtenAtMs),
      };
      await writer.send(create(BatchInfoSchema, announcement), { key: file.key });
    }
  }
}
