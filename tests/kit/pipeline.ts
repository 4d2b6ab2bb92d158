import { create } from "@bufbuild/protobuf";
import {
  type BatchInfo,
  BatchInfoSchema,
  SimulationMetadataSchema,
  type TickData,
  TickDataSchema,
} from "../../src/contracts/index.ts";
import { createBatchCoordinator, MetadataWriter } from "../../src/coordination/index.ts";
import { BatchIndexer, type ComponentType, type FlushContext } from "../../src/pipeline/index.ts";
import { type Deferred, sleep } from "../../src/runtime/index.ts";
import { type BatchFile, FileSystemStorage } from "../../src/storage/index.ts";
import type { TestContext } from "../../src/testing/index.ts";
import { PostgresTopics, type TopicReaderOptions } from "../../src/topics/index.ts";

export const runId = "run-1";

/** Options of an indexer that does not let a test wait. */
export const quick = {
  runId,
  pollIntervalMs: 20,
  metadataPollIntervalMs: 10,
  sweepIntervalMs: 50,
  flushTimeoutMs: 20,
  topicPollTimeoutMs: 50,
  retryDelayMs: 20,
};

/** The same for one that leaves files to the topic: no sweep takes them. */
export const unswept = { ...quick, sweepIntervalMs: 60_000 };

const waitMs = 60_000;
const lookMs = 5;

/** One tick with a cell and an organism that follow from its number. */
export function tick(number: number): TickData {
  return create(TickDataSchema, {
    tickNumber: BigInt(number),
    simulationRunId: runId,
    cells: [{ cellId: number % 100, x: 1, y: 2, state: 1, value: number }],
    organisms: [{ organismId: BigInt(1 + (number % 3)), x: 1, y: 2, energy: number }],
  });
}

/** Ticks from `start` on, `samplingInterval` apart. */
export function ticksFrom(start: number, count: number, samplingInterval = 1): TickData[] {
  return Array.from({ length: count }, (_, index) => tick(start + index * samplingInterval));
}

/** So many whole numbers from `start` on. */
export function range(start: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => start + index);
}

/** Waits until something holds; fails loudly when it never does. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + waitMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Waited ${waitMs} ms in vain until ${what}`);
    await sleep(lookMs);
  }
}

/** A storage, topics and a run's metadata, as a producer leaves them. */
export async function openPipeline(t: TestContext, { samplingInterval = 1 } = {}) {
  const storage = t.use(new FileSystemStorage({ rootDirectory: await t.temporaryFolder() }));
  const topics = t.use(new PostgresTopics(t.database));
  const batchTopic = await topics.writer(BatchInfoSchema, { topic: "batch-topic", runId });
  const metadataWriter = new MetadataWriter(t.database);

  const write = (start: number, count: number): Promise<BatchFile> => {
    const last = start + Math.max(count - 1, 0) * samplingInterval;
    return storage.writeBatch(runId, start, last, ticksFrom(start, count, samplingInterval), {
      schema: TickDataSchema,
    });
  };
  const announce = (file: BatchFile) =>
    batchTopic.send(announcement(file), file.key === "" ? {} : { key: file.key });
  const writeMetadata = (declaredEndTick?: number) =>
    metadataWriter.insertMetadata(
      runId,
      create(SimulationMetadataSchema, {
        simulationRunId: runId,
        samplingInterval,
        ...(declaredEndTick !== undefined && { declaredEndTick: BigInt(declaredEndTick) }),
      }),
    );
  const reader = (group: string, options: Partial<TopicReaderOptions> = {}) =>
    topics.reader(BatchInfoSchema, { topic: "batch-topic", group, ...options });
  return {
    storage,
    topics,
    write,
    announce,
    send: async (start: number, count: number) => announce(await write(start, count)),
    writeMetadata,
    reader,
    resources: async (group: string, options: Partial<TopicReaderOptions> = {}) => ({
      storage,
      database: t.database,
      topic: await reader(group, options),
      coordinator: createBatchCoordinator(t.database, { leaseMs: 2_000 }),
    }),
  };
}

/** What a producer says about a file. */
export function announcement(file: BatchFile): BatchInfo {
  return create(BatchInfoSchema, {
    simulationRunId: file.runId,
    storageKey: file.key,
    tickStart: BigInt(file.tickStart),
    tickEnd: BigInt(file.tickEnd),
    bytes: BigInt(file.bytes),
    crc: file.crc,
    writtenAtMs: BigInt(file.writtenAtMs),
  });
}

/** Starts an indexer that the test's end stops. */
export async function started<T extends BatchIndexer>(t: TestContext, indexer: T): Promise<T> {
  await t.use(indexer).start();
  return indexer;
}

/** How far each file is, by its first tick. */
export async function ledger(t: TestContext, indexerClass: string): Promise<Record<number, string>> {
  const { rows } = await t.database.forRun("sim_run_1").query<{ tick_start: number; text: string }>(
    `SELECT tick_start, format('%s %s', status, resume_at) AS text FROM sim.coordinator_batches
       WHERE indexer_class = $1 ORDER BY tick_start`,
    [indexerClass],
  );
  return Object.fromEntries(rows.map(({ tick_start, text }) => [tick_start, text]));
}

/** Announcements that a group has not acknowledged. */
export async function lagOf(topics: PostgresTopics, group: string): Promise<number> {
  const groups = await topics.listGroups("batch-topic");
  return groups.find((info) => info.group === group)?.messages ?? 0;
}

/** Writes ticks to `sim.seen`; a test may make it refuse some, or hold it inside a flush. */
export class Recorder extends BatchIndexer {
  /** The sizes of its inserts. */
  readonly flushes: number[] = [];
  /** Sees the ticks of a flush before it commits; what it throws makes the flush fail. */
  refuse: ((ticks: readonly TickData[]) => void) | undefined;
  /** Stops it inside a flush until this is resolved. */
  hold: Deferred<void> | undefined;
  isHeld = false;

  protected override getRequiredComponents() {
    return new Set<ComponentType>(["METADATA", "COORDINATION", "BUFFERING"]);
  }

  protected override async flushTicks(ticks: readonly TickData[], { tx }: FlushContext) {
    const numbers = ticks.map(({ tickNumber }) => tickNumber);
    await tx.query("INSERT INTO sim.seen SELECT unnest($1::bigint[])", [numbers]);
    this.refuse?.(ticks);
    this.flushes.push(ticks.length);
    if (!this.hold) return;
    this.isHeld = true;
    await this.hold.promise;
  }
}

/** Makes the table of a {@link Recorder}: without any key, so that a tick written twice shows. */
export async function createSeen(t: TestContext): Promise<void> {
  await t.database.forRun("sim_run_1").query("CREATE TABLE IF NOT EXISTS sim.seen (tick bigint NOT NULL)");
}

/** The recorded ticks, in order, doubles and all. */
export async function seenTicks(t: TestContext): Promise<number[]> {
  const { rows } = await t.database
    .forRun("sim_run_1")
    .query<{ tick: number }>("SELECT tick FROM sim.seen ORDER BY tick");
  return rows.map(({ tick: number }) => number);
}
