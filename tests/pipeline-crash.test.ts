import { describe, expect, it } from "vitest";
import { createBatchCoordinator } from "../src/coordination/index.ts";
import { sleep } from "../src/runtime/index.ts";
import { type Child, NatsServer, natsProgram, setup, type TestContext } from "../src/testing/index.ts";
import { randomFrom } from "./helpers/chaos.ts";
import { startChild } from "./kit/children.ts";
import { createSeen, openPipeline, runId } from "./kit/pipeline.ts";

/** The full size is CRASH_KILLS=100; the default is what CI can spare. */
const kills = Number(process.env.CRASH_KILLS ?? 4);
const killEveryMs = Number(process.env.CRASH_EVERY_MS ?? 1_000);
const seed = Number(process.env.SEED ?? 7);
const indexerCount = 3;
const ticksPerFile = 20;
/** Enough files that work is left when the last kill comes. */
const fileCount = 150 + kills * 30;
const expectedTicks = fileCount * ticksPerFile;
const settleMs = 120_000;
const indexerScript = new URL("./children/indexer.child.ts", import.meta.url);
const producerScript = new URL("./children/tick-producer.child.ts", import.meta.url);

const indexerCrashPoints = [
  "indexer.after-write",
  "indexer.after-ack",
  "indexer.after-commit",
  "topics.before-ack",
];
const producerCrashPoints = ["storage.temporary-synced", "storage.linked", "topics.after-send"];

/** A process that is started again, whoever kills it, until it ends by itself or is stopped. */
class Phoenix {
  readonly #start: () => Child;
  readonly done: Promise<void>;
  kills = 0;
  #child: Child | undefined;
  #isStopped = false;

  constructor(start: () => Child) {
    this.#start = start;
    this.done = this.#run();
  }

  /** Waits until the present life says that it is ready, and ends it. */
  async kill(): Promise<void> {
    const child = this.#child;
    await child?.line("ready").catch(() => undefined);
    child?.kill("SIGKILL");
    await child?.exit;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#child?.kill("SIGTERM");
    await this.done;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.#child = this.#start();
      const { code, signal } = await this.#child.exit;
      if (this.#isStopped) return;
      if (signal === "SIGKILL") this.kills++;
      else if (code === 0) return;
      else throw new Error(`A child ended with ${code ?? signal}: ${this.#child.errorOutput}`);
    }
  }
}

/** Children of one script, half of them armed to kill themselves at one of the points. */
function phoenixes(
  count: number,
  script: URL,
  options: {
    args: string[];
    env: Record<string, string>;
    crashPoints: readonly string[];
    random: () => number;
  },
): Phoenix[] {
  const { args, env, crashPoints, random } = options;
  const crashAt = () =>
    `${crashPoints[Math.floor(random() * crashPoints.length)]}:${1 + Math.floor(random() * 20)}`;
  const start = () => startChild(script, { args, env, ...(random() < 0.5 && { crashAt: crashAt() }) });
  return Array.from({ length: count }, () => new Phoenix(start));
}

async function crash(
  t: TestContext,
  mode: "coordinated" | "uncoordinated",
  nats?: NatsServer,
): Promise<void> {
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata(expectedTicks - 1);
  await createSeen(t);
  const sim = t.database.forRun("sim_run_1");
  await sim.query("CREATE TABLE sim.upserted (tick bigint PRIMARY KEY)");
  const table = mode === "coordinated" ? "sim.seen" : "sim.upserted";
  const count = async () => {
    const { rows } = await sim.query(
      `SELECT count(*) AS rows, count(DISTINCT tick) AS distinct FROM ${table}`,
    );
    return rows[0] as { rows: number; distinct: number };
  };
  const folder = pipeline.storage.place;
  const shared = {
    env: { DATABASE_URL: t.url, ...(nats && { NATS_URL: nats.url }) },
    random: randomFrom(seed),
  };
  const producers = phoenixes(1, producerScript, {
    ...shared,
    args: [folder, "0", `${fileCount}`, `${ticksPerFile}`],
    crashPoints: producerCrashPoints,
  });
  const indexers = phoenixes(indexerCount, indexerScript, {
    ...shared,
    args: [folder, mode],
    crashPoints: indexerCrashPoints,
  });
  for (let kill = 0; kill < kills; kill++) {
    await sleep(killEveryMs);
    await indexers[Math.floor(shared.random() * indexers.length)]?.kill();
  }
  await Promise.all(producers.map(({ done }) => done));
  // Without a ledger an indexer sees what is announced, no more: lost announcements stay lost for it.
  const lost = mode === "coordinated" ? 0 : Math.floor(fileCount / 9) * ticksPerFile;
  const deadline = performance.now() + settleMs;
  while ((await count()).distinct < expectedTicks - lost && performance.now() < deadline) await sleep(100);
  await Promise.all(indexers.map((indexer) => indexer.stop()));
  expect([...indexers, ...producers].reduce((sum, each) => sum + each.kills, 0)).toBeGreaterThanOrEqual(
    kills,
  );
  expect(await count()).toEqual({ rows: expectedTicks - lost, distinct: expectedTicks - lost });
  if (mode === "coordinated") await expectNothingOpen(t);
}

async function expectNothingOpen(t: TestContext): Promise<void> {
  const coordinator = createBatchCoordinator(t.database);
  coordinator.setSimulationRun(runId);
  const ledger = coordinator.setIndexerClass("KeylessIndexer");
  const expected = { samplingInterval: 1, declaredEnd: expectedTicks - 1 };
  expect(await ledger.reconcileGaps(expected)).toMatchObject({ pending: 0 });
  expect(await ledger.listGaps()).toEqual([]);
  const { rows } = await t.database
    .forRun("sim_run_1")
    .query("SELECT status, count(*) AS files FROM sim.coordinator_batches GROUP BY status");
  expect(rows).toEqual([{ status: "completed", files: fileCount }]);
}

describe(`${kills} kills of indexers, and more at crash points of indexers and producers`, () => {
  const timeout = 2 * settleMs + kills * killEveryMs * 10;

  it("leave every tick written once, with the topic in PostgreSQL", { timeout }, async () => {
    await using t = await setup();
    await crash(t, "coordinated");
  });

  it("leave every announced tick written once by an indexer without a ledger", { timeout }, async () => {
    await using t = await setup();
    await crash(t, "uncoordinated");
  });

  it.skipIf(!natsProgram())(
    "leave every tick written once, with the topic on NATS (needs nats-server)",
    { timeout },
    async () => {
      await using t = await setup();
      await crash(t, "coordinated", t.use(await NatsServer.start()));
    },
  );
});
