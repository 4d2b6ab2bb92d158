import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { configOf, Probe, reaches } from "../../../tests/kit/services.ts";
import { BatchInfoSchema } from "../../contracts/index.ts";
import { NatsServer, natsProgram, setup, type TestContext } from "../../testing/index.ts";
import {
  type BoundResources,
  builtInResources,
  optionalPort,
  port,
  ServiceManager,
  ServiceRegistry,
  Tallyman,
  topicPort,
} from "../index.ts";

const ports = {
  storage: port("storage-write"),
  out: topicPort("topic-write", BatchInfoSchema),
  topic: topicPort("topic-read", BatchInfoSchema),
  letters: optionalPort(port("dlq")),
  metadata: optionalPort(port("db-meta-write")),
  reader: optionalPort(port("db-meta-read")),
  coordinator: optionalPort(port("db-coordinator")),
  idempotency: optionalPort(port("db-idempotency")),
  tables: optionalPort(port("db-tables")),
  retries: optionalPort(port("retry-tracker")),
  failures: optionalPort(port("retry-tracker")),
};

type Resources = BoundResources<typeof ports>;

/** A manager on the test's own database, and what its services were given. */
async function open(t: TestContext, text: string) {
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const given = new Map<string, Resources>();
  const services = new ServiceRegistry().registerServiceType("Taker", {
    ports,
    create: ({ name, resources, options }) => {
      given.set(name, resources);
      return new Probe(name, resources, options, []);
    },
  });
  const folder = await t.temporaryFolder();
  const types = { services, resources: builtInResources() };
  const manager = t.use(new ServiceManager(tallyman, configOf(text), { ...types, folder }));
  const resourcesOf = (name: string): Resources => {
    const resources = given.get(name);
    if (!resources) throw new Error(`${name} was not made`);
    return resources;
  };
  return { tallyman, manager, folder, resourcesOf };
}

const required = `
      storage: storage-write:ticks
      out: topic-write:batch-topic
      topic: topic-read:batch-topic?consumerGroup=`;

it("opens each resource once and gives every port its typed wrapper", async () => {
  await using t = await setup();
  const { manager, tallyman, folder, resourcesOf } = await open(
    t,
    `
resources:
  ticks: { className: FileSystemStorage, options: { rootDirectory: ticks } }
  batch-topic: { className: PostgresTopic, options: { claimTimeout: 60, retentionMs: "3600000" } }
  letters: { className: PostgresTopic }
  index: { className: PostgresDatabase }
  retries: { className: InMemoryRetryTracker }
services:
  a:
    className: Taker
    resources:${required}one
      retries: retry-tracker:retries
      failures: retry-tracker:index
      letters: dlq:letters
      metadata: db-meta-write:index
      reader: db-meta-read:index
      coordinator: db-coordinator:index
      idempotency: db-idempotency:index
      tables: db-tables:index
  b:
    className: Taker
    resources:${required}two&startAt=now&claimTimeout=0
      retries: retry-tracker:retries`,
  );
  await manager.start();
  expect(manager.status().map(({ name, state }) => `${name} ${state}`)).toEqual([
    "topic-retention RUNNING",
    "a RUNNING",
    "b RUNNING",
  ]);
  const a = resourcesOf("a");
  const b = resourcesOf("b");
  expect(a.storage).toBe(b.storage);
  expect(a.storage.place).toBe(`${folder}/ticks`);
  expect(a.tables).toBe(tallyman.database);
  expect(b).not.toHaveProperty("letters");

  await a.out.send(create(BatchInfoSchema, { storageKey: "k" }));
  const [first, second] = await Promise.all([a.topic.poll(5_000), b.topic.poll(5_000)]);
  expect([first?.payload.storageKey, second?.payload.storageKey]).toEqual(["k", "k"]);
  expect([a.topic.group, b.topic.group]).toEqual(["one", "two"]);
  await a.metadata?.createSimulationRun("run-1");
  a.reader?.setSimulationRun("run-1");
  expect(await a.reader?.hasMetadata("run-1")).toBe(false);
  a.idempotency?.setSimulationRun("run-1");
  expect(await a.idempotency?.isProcessed("Taker", "x")).toBe(false);
  a.coordinator?.setSimulationRun("run-1");
  expect(await a.coordinator?.setIndexerClass("Taker").getMaxCompletedTickEnd()).toBe(-1);
  expect(await a.retries?.incrementAndGetRetryCount("x")).toBe(1);
  expect(await b.retries?.incrementAndGetRetryCount("x")).toBe(2);
  expect(await a.failures?.incrementAndGetRetryCount("x")).toBe(1);
  expect(a.letters?.topic).toBe("letters");
  expect(await tallyman.topics.listTopics()).toMatchObject([
    { name: "batch-topic", retentionMs: 3_600_000, groups: 2 },
    { name: "letters", messageType: "tallyman.v1.DeadLetterMessage", retentionMs: null },
  ]);

  const watched = () => tallyman.metrics.collect().map(({ kind, name }) => `${kind} ${name}`);
  expect(watched()).toEqual(
    expect.arrayContaining(["resource ticks", "wrapper a.topic", "wrapper b.topic", "service a"]),
  );
  expect(watched()).not.toContain("wrapper a.tables");
  await manager.stop();
  expect(watched()).toEqual(["resource database"]);
  await expect(a.topic.poll(0)).rejects.toMatchObject({ code: "INVALID_STATE" });
});

it("leaves a service with a wrong binding in ERROR with the reason, and does not retry it", async () => {
  await using t = await setup();
  const { manager } = await open(
    t,
    `
resources:
  ticks: { className: FileSystemStorage }
  batch-topic: { className: PostgresTopic }
services:
  nameless: { className: Taker, resources: {${required.replaceAll("\n", ", ").replace(/^, /, "").replace("?consumerGroup=", "")} } }
  wrong: { className: Taker, resources: {${required.replaceAll("\n", ", ").replace(/^, /, "")}x&startAt=later } }
  fine: { className: Taker, resources: {${required.replaceAll("\n", ", ").replace(/^, /, "")}x } }`,
  );
  t.logs.expectLog({ logger: "services", level: "error", message: "nameless can't be started: *" });
  t.logs.expectLog({ logger: "services", level: "error", message: "wrong can't be started: *" });
  await manager.start();
  const [, nameless, wrong, fine] = manager.status();
  expect(nameless).toMatchObject({
    state: "ERROR",
    error:
      "Port 'topic' of service 'nameless': a reader needs a consumer group. Write topic-read:<resource>?consumerGroup=<name>.",
  });
  expect(wrong?.error).toBe(
    "Port 'topic' of service 'wrong': Option 'startAt' must be one of beginning, now, but is 'later'.",
  );
  expect([nameless?.nextRestart, wrong?.nextRestart, fine?.state]).toEqual([undefined, undefined, "RUNNING"]);
});

const isMissing = natsProgram() === undefined;
const why = isMissing ? " (skipped: nats-server is not installed)" : "";
it.skipIf(isMissing)(`takes topics from NATS, and tries again while NATS is away${why}`, async () => {
  await using t = await setup();
  const server = t.use(await NatsServer.start());
  const { manager, resourcesOf } = await open(
    t,
    `
resources:
  ticks: { className: FileSystemStorage }
  batch-topic: { className: NatsTopic, options: { servers: "${server.url}" } }
  away: { className: NatsTopic, options: { servers: "nats://127.0.0.1:1" } }
services:
  early:
    className: Taker
    resources: { storage: "storage-write:ticks", out: "topic-write:away", topic: "topic-read:away?consumerGroup=a" }
    restart: { backoffMs: 60000 }
  late:
    className: Taker
    resources:${required}b`,
  );
  t.logs.expectLog({ logger: "services", level: "error", message: "early can't be started: *" });
  await manager.start();
  await reaches(manager, "early", "ERROR");
  expect(manager.status()[0]?.nextRestart).toMatchObject({ attempt: 1, delayMs: 60_000 });
  const { out, topic } = resourcesOf("late");
  await out.send(create(BatchInfoSchema, { storageKey: "over nats" }));
  const message = await topic.poll(10_000);
  expect(message?.payload.storageKey).toBe("over nats");
  if (message) await topic.ack(message);
});
