import { expect, it } from "vitest";
import { CommandBus } from "../src/commands/index.ts";
import type { Database } from "../src/database/index.ts";
import { sleep } from "../src/runtime/index.ts";
import { Fleet, JobStore } from "../src/scheduler/index.ts";
import { type Child, setup } from "../src/testing/index.ts";
import { crashableServer, persist, randomFrom } from "./helpers/chaos.ts";
import { killPostgres } from "./helpers/kill-postgres.ts";
import { startChild } from "./kit/children.ts";
import { accountForFires, command } from "./kit/jobs.ts";

/** The full size is CRASH_KILLS=100 CRASH_RESTARTS=10; the default is what CI can spare. */
const kills = Number(process.env.CRASH_KILLS ?? 5);
const restarts = Number(process.env.CRASH_RESTARTS ?? 1);
const seed = Number(process.env.SEED ?? 7);
const nodes = ["coordinator c1", "coordinator c2", "worker w1", "worker w2", "worker w3"];
/** Longer than a worker's timeout and a leader's lease. */
const stoppedMs = 2_500;
const script = new URL("./children/scheduler-node.child.ts", import.meta.url);

const every = (everyMs: number, n: number) => ({
  key: `every-${everyMs}-${n}`,
  schedule: { everyMs },
  command,
  misfirePolicy: "FIRE_ALL" as const,
});

/** Jobs that must fire at each of their times, one that catches up once, a cron pattern and a batch. */
const jobList = [
  ...Array.from({ length: 30 }, (_, n) => every(500 + n * 50, n)),
  { ...every(700, 100), jitterMs: 300 },
  { key: "once-of-many", schedule: { everyMs: 400 }, command },
  {
    key: "cron",
    schedule: { cron: "* * * * * *", timeZone: "Europe/Berlin" },
    command,
    misfirePolicy: "FIRE_ALL" as const,
  },
  { key: "batch", schedule: { everyMs: 2_000 }, batch: { domain: "d", commands: [command, command] } },
];

/** Every change of a segment's owner is kept, to prove afterwards that no epoch had two. */
const ownerLog = `
  CREATE TABLE owner_log (segment_id int, epoch bigint, worker_id text, leader_epoch bigint, id bigserial);
  CREATE FUNCTION log_owner() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF new.worker_id IS NOT NULL THEN
      INSERT INTO owner_log VALUES (new.segment_id, new.epoch, new.worker_id, new.leader_epoch);
    END IF;
    IF new.epoch < old.epoch THEN RAISE EXCEPTION 'the epoch of segment % went back', new.segment_id; END IF;
    RETURN new;
  END $$;
  CREATE TRIGGER log_owner BEFORE UPDATE ON tallyman.scheduler_segment FOR EACH ROW EXECUTE FUNCTION log_owner();
  CREATE FUNCTION refuse_return() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF new.next_fire_at <= old.next_fire_at AND new.fire_count > old.fire_count THEN
      RAISE EXCEPTION 'the next time of job % went back', new.job_id;
    END IF;
    RETURN new;
  END $$;
  CREATE TRIGGER refuse_return BEFORE UPDATE ON tallyman.scheduler_job_state FOR EACH ROW EXECUTE FUNCTION refuse_return();`;

it(
  `loses and doubles no fire, and owns no segment twice, in ${kills} kills and ${restarts} crashes of PostgreSQL`,
  async () => {
    await using t = await setup();
    const { database, folder } = await crashableServer(t);
    await database.query(ownerLog);
    const jobs = new JobStore(database, t.use(new CommandBus(database)));
    await jobs.createMany(jobList);

    const random = randomFrom(seed);
    const children: Child[] = [];
    const start = (index: number) =>
      startChild(script, { args: [folder, ...(nodes[index] ?? "").split(" ")] });
    try {
      for (let i = 0; i < nodes.length; i++) children.push(start(i));
      const restartEvery = Math.max(1, Math.floor(kills / Math.max(1, restarts)));
      for (let kill = 1; kill <= kills; kill++) {
        const index = Math.floor(random() * nodes.length);
        const child = children[index];
        await child?.line("working").catch(() => undefined);
        await sleep(random() * 600);
        if (random() < 0.3) {
          child?.kill("SIGSTOP");
          await sleep(stoppedMs);
          child?.kill("SIGCONT");
          await sleep(random() * 300);
        }
        child?.kill("SIGKILL");
        children[index] = start(index);
        if (kill % restartEvery === 0) await killPostgres(folder);
      }
      await untilCaughtUp(database);
    } finally {
      for (const child of children) await child[Symbol.asyncDispose]();
    }

    const fired = await persist(() => accountForFires(database));
    expect(fired).toBeGreaterThan(jobList.length);
    const { rows: missed } = await database.query(
      `SELECT count(*)::int AS n FROM tallyman.scheduler_fire f JOIN tallyman.scheduler_job j USING (job_id)
       WHERE f.outcome <> 'FIRED' AND j.misfire_policy = 'FIRE_ALL'`,
    );
    expect(missed).toEqual([{ n: 0 }]);
    const { rows: twice } = await database.query(
      `SELECT segment_id, epoch FROM owner_log GROUP BY segment_id, epoch HAVING count(DISTINCT worker_id) > 1
       UNION ALL SELECT segment_id, epoch FROM (SELECT l.*, max(leader_epoch) OVER (PARTITION BY segment_id ORDER BY id) AS seen
         FROM owner_log l) o WHERE leader_epoch < seen`,
    );
    expect(twice).toEqual([]);
    expect(await new JobStore(database, t.use(new CommandBus(database))).list({ status: "PARKED" })).toEqual(
      [],
    );
    const { rows: terms } = await database.query<{ epoch: number }>(
      "SELECT epoch FROM tallyman.scheduler_leader_lease",
    );
    process.stdout.write(`fires accounted for: ${fired}, terms of leaders: ${terms[0]?.epoch}\n`);
  },
  Math.max(300_000, kills * 20_000),
);

/** Waits until all segments have an owner and no job is behind its schedule. */
async function untilCaughtUp(database: Database): Promise<void> {
  const fleet = new Fleet(database);
  const isDone = async () => {
    const segments = await fleet.segmentMap();
    const { rows } = await database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM tallyman.scheduler_job_state s
       WHERE s.next_fire_at < clock_timestamp() - interval '2 s' OR s.fire_count = 0`,
    );
    return rows[0]?.n === 0 && segments.every(({ status }) => status === "ASSIGNED");
  };
  while (!(await persist(isDone))) await sleep(100);
}
