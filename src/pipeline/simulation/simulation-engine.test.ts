import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SimulationMetadataSchema, type TickData, TickDataSchema } from "../../contracts/index.ts";
import { FileSystemStorage, metadataKey } from "../../storage/index.ts";
import { FakeClock, LogCapture } from "../../testing/index.ts";
import {
  createWorld,
  MetadataPersistenceService,
  MetadataQueue,
  PersistenceService,
  SimulationEngine,
  type SimulationEngineOptions,
  sample,
  step,
  TickQueue,
} from "../index.ts";

const world = { worldWidth: 16, worldHeight: 16, seed: 9 };
let logs: LogCapture;
let rootDirectory: string;

beforeEach(async () => {
  logs = new LogCapture();
  rootDirectory = await mkdtemp(join(tmpdir(), "tallyman-engine-"));
});

afterEach(async () => {
  logs[Symbol.dispose]();
  logs.verify();
  await rm(rootDirectory, { recursive: true });
});

/** The ticks that wait, at least one. */
async function takeSome(queue: TickQueue): Promise<TickData[]> {
  using batch = await queue.take({ recordsMax: 10_000, batchTimeoutMs: 0 });
  batch?.settle(batch.records);
  return [...(batch?.records ?? [])];
}

function ended(engine: SimulationEngine): Promise<void> {
  return new Promise((resolve) => {
    engine.onStateChange((state) => state === "STOPPED" && resolve());
  });
}

async function runToEnd(engine: SimulationEngine): Promise<void> {
  const end = ended(engine);
  await engine.start();
  await end;
}

describe("SimulationEngine", { timeout: 60_000 }, () => {
  it("hands over the sampled ticks of its world, and stops after the last", async () => {
    const queue = new TickQueue();
    await using engine = new SimulationEngine(
      "engine",
      { queue },
      { ...world, samplingInterval: 10, maxTicks: 95 },
    );
    await runToEnd(engine);
    const ticks = await takeSome(queue);
    expect(ticks.map(({ tickNumber }) => Number(tickNumber))).toEqual([
      0, 10, 20, 30, 40, 50, 60, 70, 80, 90,
    ]);
    const reference = createWorld({ width: 16, height: 16, seed: 9 });
    while (reference.tick < 90) step(reference);
    expect(ticks.at(-1)?.cells).toEqual(sample(reference).cells);
    expect(new Set(ticks.map(({ simulationRunId }) => simulationRunId))).toEqual(new Set([engine.runId]));
    expect([engine.isFinished, engine.getMetrics()]).toMatchObject([
      true,
      { ticks_simulated: 95, ticks_sampled: 10 },
    ]);
  });

  it("tells the queue of metadata about the run before its first tick, with the end that it declares", async () => {
    const clock = new FakeClock();
    const [queue, metadataQueue] = [new TickQueue(), new MetadataQueue()];
    await using engine = new SimulationEngine(
      "engine",
      { queue, metadataQueue, clock },
      { ...world, samplingInterval: 10, maxTicks: 100 },
    );
    const end = ended(engine);
    await engine.start();
    using batch = await metadataQueue.take({ recordsMax: 1, batchTimeoutMs: 0 });
    expect(batch?.records).toMatchObject([
      {
        simulationRunId: expect.stringMatching(/^20250101000000000-[0-9a-f-]{36}$/),
        startTimeMs: BigInt(clock.now()),
        initialSeed: 9n,
        samplingInterval: 10,
        declaredEndTick: 90n,
        environment: { dimensions: 2, shape: [16, 16], toroidal: [true, true] },
      },
    ]);
    await end;
  });

  it("waits for room in the queue, and goes on where it was after stop and start", async () => {
    const queue = new TickQueue({ recordsMax: 5 });
    await using engine = new SimulationEngine("engine", { queue }, { ...world, maxTicks: 12 });
    const end = ended(engine);
    await engine.start();
    await expect.poll(() => queue.getMetrics().queue_blocked_offers).toBe(1);
    expect(queue.size).toBe(5);
    await engine.stop();
    await end;

    const taken: number[] = [];
    const again = ended(engine);
    await engine.start();
    while (taken.length < 12)
      taken.push(...(await takeSome(queue)).map(({ tickNumber }) => Number(tickNumber)));
    await again;
    expect(taken).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it("runs no faster than asked for", async () => {
    const clock = new FakeClock();
    const queue = new TickQueue({}, clock);
    await using engine = new SimulationEngine(
      "engine",
      { queue, clock },
      { ...world, ticksPerSecondMax: 10 },
    );
    await engine.start();
    for (let advanced = 0; advanced < 50; advanced++) await clock.advance(20);
    expect(queue.size).toBeGreaterThanOrEqual(9);
    expect(queue.size).toBeLessThanOrEqual(11);
  });

  it.each([{ worldWidth: 0 }, { samplingInterval: 0 }, { maxTicks: -1 }, { seed: 1.5 }])(
    "refuses %o by name",
    (options) => {
      const [name = ""] = Object.keys(options);
      expect(() => new SimulationEngine("engine", { queue: new TickQueue() }, options)).toThrow(name);
    },
  );
});

describe("a run that was interrupted", { timeout: 60_000 }, () => {
  const runId = "run-1";
  const options = { ...world, runId, samplingInterval: 5, maxTicks: 500 };
  const clock = new FakeClock();

  function storageAt(name: string): FileSystemStorage {
    return new FileSystemStorage({ rootDirectory: join(rootDirectory, name) });
  }

  /** Runs engine and writers to the end on one storage; returns how many ticks were handed over. */
  async function produce(
    storage: FileSystemStorage,
    more: Partial<SimulationEngineOptions> = {},
  ): Promise<number | undefined> {
    const [queue, metadataQueue] = [new TickQueue(), new MetadataQueue()];
    const resources = { queue, metadataQueue, storage, clock };
    await using engine = new SimulationEngine("engine", resources, { ...options, ...more });
    await using persistence = new PersistenceService("persistence", { queue, storage }, { maxBatchSize: 7 });
    await using metadata = new MetadataPersistenceService("metadata", { queue: metadataQueue, storage });
    await Promise.all([persistence.start(), metadata.start()]);
    await runToEnd(engine);
    return engine.getMetrics().ticks_sampled;
  }

  async function recordsOf(storage: FileSystemStorage): Promise<string[]> {
    const { files } = await storage.listBatchFiles(runId, undefined, 10_000);
    const records: string[] = [];
    for (const { key } of files) {
      for (const tick of await storage.readBatch(key))
        records.push(Buffer.from(toBinary(TickDataSchema, tick)).toString("hex"));
    }
    return records;
  }

  beforeEach(() => {
    for (const logger of ["persistence", "metadata"])
      logs.expectLog({ logger, level: "warn", message: "No topic is bound*" });
  });

  it("comes out identical to one that was not, though a file in its middle was never written", async () => {
    const [whole, broken] = [storageAt("whole"), storageAt("broken")];
    await produce(whole);
    await produce(broken, { maxTicks: 203 });
    const { files } = await broken.listBatchFiles(runId, undefined, 100);
    await rm(join(rootDirectory, "broken", files[2]?.key ?? ""));
    await produce(broken);
    const records = await recordsOf(broken);
    expect(records).toHaveLength(100);
    expect(records).toEqual(await recordsOf(whole));
    const metadata = await broken.readMessage(metadataKey(runId), SimulationMetadataSchema);
    expect(metadata.declaredEndTick).toBe(495n);
  });

  it("hands nothing over again when it was complete", async () => {
    const storage = storageAt("complete");
    expect(await produce(storage)).toBe(100);
    const before = await storage.listBatchFiles(runId, undefined, 100);
    expect(await produce(storage)).toBe(0);
    expect(await storage.listBatchFiles(runId, undefined, 100)).toEqual(before);
  });

  it.each([{ seed: 10 }, { samplingInterval: 10 }, { worldWidth: 32 }])(
    "does not go on with %o",
    async (other) => {
      const storage = storageAt("other");
      await produce(storage);
      const resources = { queue: new TickQueue(), storage };
      await using engine = new SimulationEngine("engine", resources, { ...options, ...other });
      await expect(engine.start()).rejects.toMatchObject({ code: "RUN_MISMATCH" });
    },
  );
});
