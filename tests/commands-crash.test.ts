import { expect, it } from "vitest";
import { CommandBus } from "../src/commands/index.ts";
import { sleep } from "../src/runtime/index.ts";
import { type Child, setup } from "../src/testing/index.ts";
import { crashableServer, persist, randomFrom } from "./helpers/chaos.ts";
import { killPostgres } from "./helpers/kill-postgres.ts";
import { startChild } from "./kit/children.ts";

/** The full size is CRASH_KILLS=200 CRASH_RESTARTS=20 CRASH_COMMANDS=50000; the default is what CI can spare. */
const kills = Number(process.env.CRASH_KILLS ?? 4);
const restarts = Number(process.env.CRASH_RESTARTS ?? 1);
const commandCount = Number(process.env.CRASH_COMMANDS ?? 1_000);
const seed = Number(process.env.SEED ?? 7);
const workers = 3;
const batchSize = 100;
const script = new URL("./children/command-worker.child.ts", import.meta.url);

it(
  `loses nothing and repeats no effect in ${kills} kills of workers and ${restarts} crashes of PostgreSQL over ${commandCount} commands`,
  async () => {
    await using t = await setup();
    const { database, folder } = await crashableServer(t);
    const bus = t.use(new CommandBus(database));
    // No unique constraint: an effect that happens twice must show.
    await database.query("CREATE TABLE effect (command_id uuid)");
    const batchIds: string[] = [];
    const types = (n: number) => (n % 5 === 0 ? "Plain" : "Effect");
    for (let from = 0; from < commandCount; from += batchSize) {
      const list = Array.from({ length: batchSize }, (_, n) => ({ commandType: types(n), data: { n } }));
      batchIds.push(await bus.createBatch("d", list));
    }

    const random = randomFrom(seed);
    const children: Child[] = [];
    try {
      for (let i = 0; i < workers; i++) children.push(startChild(script, { args: [folder] }));
      const restartEvery = Math.max(1, Math.floor(kills / Math.max(1, restarts)));
      for (let kill = 1; kill <= kills; kill++) {
        const index = Math.floor(random() * workers);
        await children[index]?.line("working").catch(() => undefined);
        await sleep(random() * 400);
        children[index]?.kill("SIGKILL");
        children[index] = startChild(script, { args: [folder] });
        if (kill % restartEvery === 0) await killPostgres(folder);
      }
      const unfinished = async () => {
        const { rows } = await database.query<{ n: number }>(
          "SELECT count(*)::int AS n FROM tallyman.command_bus_batch WHERE completed_at IS NULL",
        );
        return rows[0]?.n;
      };
      while ((await persist(unfinished)) !== 0) await sleep(200);
    } finally {
      for (const child of children) await child[Symbol.asyncDispose]();
    }

    const { rows } = await persist(() =>
      database.query(
        `SELECT (SELECT count(*) FROM effect)::int AS effects, (SELECT count(DISTINCT command_id) FROM effect)::int AS commands,
                (SELECT count(*) FROM tallyman.command_bus_command WHERE status = 'COMPLETED')::int AS completed,
                (SELECT count(*) FROM tallyman.command_bus_audit WHERE event_type = 'BATCH_COMPLETED')::int AS batches,
                (SELECT count(*) FROM tallyman.command_bus_audit WHERE event_type = 'COMPLETED')::int AS completions`,
      ),
    );
    const effects = (commandCount / 5) * 4;
    expect(rows).toEqual([
      {
        effects,
        commands: effects,
        completed: commandCount,
        batches: batchIds.length,
        completions: commandCount,
      },
    ]);
    expect(await bus.recount()).toEqual({ batches: batchIds.length, miscounts: [] });
  },
  Math.max(300_000, kills * 15_000),
);
