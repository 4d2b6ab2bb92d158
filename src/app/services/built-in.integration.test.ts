import { expect, it } from "vitest";
import { configOf, reaches } from "../../../tests/kit/services.ts";
import { inspectRun } from "../../storage/index.ts";
import { setup, type TestContext } from "../../testing/index.ts";
import { openConfiguredStorage, ServiceManager, Tallyman } from "../index.ts";

function pipeline(engineOptions: string): string {
  return `
runId: run-1
resources:
  ticks: { className: FileSystemStorage, options: { codec: none } }
  batch-topic: { className: PostgresTopic }
  metadata-topic: { className: PostgresTopic }
  tick-queue: { className: TickQueue, options: { recordsMax: "50" } }
  metadata-queue: { className: MetadataQueue }
services:
  simulation:
    className: SimulationEngine
    resources: { queue: queue-out:tick-queue, metadataQueue: queue-out:metadata-queue }
    options: { worldWidth: 16, worldHeight: 16, ${engineOptions} }
  metadata-persistence:
    className: MetadataPersistenceService
    resources: { queue: queue-in:metadata-queue, storage: storage-write:ticks, topic: topic-write:metadata-topic }
  persistence-1: &persistence
    className: PersistenceService
    resources: { queue: queue-in:tick-queue, storage: storage-write:ticks, topic: topic-write:batch-topic }
    options: { maxBatchSize: 20 }
  persistence-2: *persistence
`;
}

async function open(t: TestContext, text: string) {
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const folder = await t.temporaryFolder();
  const config = configOf(text);
  const manager = t.use(new ServiceManager(tallyman, config, { folder }));
  const storage = t.use(openConfiguredStorage(config, { folder }));
  const metricOf = (service: string, metric: string) =>
    tallyman.metrics.collect().find(({ name }) => name === service)?.metrics[metric] ?? 0;
  return { tallyman, manager, storage, metricOf };
}

it("runs a producing pipeline from its configuration to the last tick", async () => {
  await using t = await setup();
  const { manager, storage, tallyman } = await open(t, pipeline("maxTicks: 200, samplingInterval: 2"));
  await manager.start();
  await reaches(manager, "simulation", "STOPPED");
  expect(await manager.stop()).toMatchObject({ notStopped: [] });
  const run = await inspectRun(storage, "run-1", {});
  expect(run).toMatchObject({ records: 100, holesTotal: 0, ticks: { tickStart: 0, tickEnd: 198 } });
  expect(await tallyman.topics.listTopics()).toMatchObject([
    { name: "batch-topic", messages: run.files },
    // Once at the beginning, once with the last tick.
    { name: "metadata-topic", messages: 2 },
  ]);
});

it("leaves nothing in the queue when it is stopped in the middle of a run", async () => {
  await using t = await setup();
  const { manager, storage, metricOf } = await open(t, pipeline("samplingInterval: 1"));
  await manager.start();
  const sampled = () => metricOf("simulation", "ticks_sampled");
  while (sampled() < 300) await new Promise((resolve) => setImmediate(resolve));
  // The engine's own count, read after its last tick: the stop of the writers has not begun by then.
  let handedOver = 0;
  manager.onChange(({ name, state }) => {
    if (name === "simulation" && state === "STOPPED") handedOver = sampled();
  });
  await manager.stop();
  const { records: stored, holesTotal } = await inspectRun(storage, "run-1", {});
  expect(holesTotal).toBe(0);
  expect(stored).toBe(handedOver);
  expect(stored).toBeGreaterThanOrEqual(300);
});
