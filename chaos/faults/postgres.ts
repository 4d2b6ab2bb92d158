import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Slot } from "../fleet/plan.ts";
import { pick } from "../random.ts";
import { quietClient, withClient } from "./client.ts";
import { between, type Fault, slotsWith } from "./fault.ts";

const target = ["postgres"];
/** A crash and the recovery after it. */
const crashMs = 5_000;
const connectionsMax = 300;
const exhaustedMs = 1_500;
/** Longer than every lease; then the server may have to recover. */
const fullMs = 2_500;
/** Large statements: one needs room for a table, the other for the server's log, without which it can't run at all. */
const largeStatements = [
  "SELECT md5(n::text) INTO chaos.filler FROM generate_series(1, 500000) n",
  "SELECT pg_logical_emit_message(false, 'chaos', repeat('x', 16000000)) FROM generate_series(1, 20)",
];
const lockMs = { lowMs: 1_000, highMs: 2_500 };

/** What can happen to the database. */
export function postgresFaults(slots: readonly Slot[]): Fault[] {
  const crash = (name: string, signal: "SIGQUIT" | "SIGKILL"): Fault => ({
    name,
    targets: target,
    lastsMs: crashMs,
    weight: 2,
    inject: async (stage) => ((await stage.postgres.crash(signal)) ? "done" : "missed"),
  });
  const lockable = slotsWith(slots, "coordinator").length > 0 ? [leaseLocked] : [];
  return [
    crash("postgres-immediate-stop", "SIGQUIT"),
    crash("postgres-killed", "SIGKILL"),
    backendTerminated,
    connectionsExhausted,
    databaseDiskFull,
    ...lockable,
  ];
}

const backendTerminated: Fault = {
  name: "backend-terminated",
  targets: target,
  lastsMs: 200,
  weight: 5,
  inject: (stage, { random }) =>
    withClient(stage, async (client) => {
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM (
           SELECT pid, state <> 'idle' AS is_busy FROM pg_stat_activity
           WHERE application_name ~ '^[a-z-]+-[0-9]+[.][0-9]+$' ORDER BY is_busy DESC, md5(pid::text || $1) LIMIT 3) b`,
        [String(random)],
      );
      return rowCount ? "done" : "missed";
    }),
};

/** Whoever needs a new connection meanwhile is refused. */
const connectionsExhausted: Fault = {
  name: "connections-exhausted",
  targets: target,
  lastsMs: exhaustedMs + 1_500,
  weight: 1,
  inject: async (stage) => {
    const held: pg.Client[] = [];
    let isFull = false;
    while (!isFull && held.length < connectionsMax) {
      const client = quietClient(stage);
      isFull = await client.connect().then(
        () => false,
        () => true,
      );
      if (!isFull) held.push(client);
    }
    await sleep(isFull ? exhaustedMs : 0);
    await Promise.all(held.map((client) => client.end().catch(() => undefined)));
    return isFull ? "done" : "missed";
  },
};

/** Nothing can grow on the database's disk: statements fail, or the server does, until there is room again. */
const databaseDiskFull: Fault = {
  name: "database-disk-full",
  targets: target,
  lastsMs: fullMs + crashMs,
  weight: 2,
  inject: async (stage, { random }) => {
    const { disk } = stage.postgres;
    if (disk.unfillable !== undefined) return { skipped: disk.unfillable };
    if (!(await disk.fill())) return "missed";
    // Uses up what the server has in reserve.
    const outcome = await withClient(stage, async (client) => {
      await client.query("BEGIN");
      await client.query(pick(largeStatements, random));
      return "done"; // nothing of it stays: it was not committed
    });
    await sleep(fullMs);
    disk.empty();
    return outcome === "missed" ? "done" : "missed";
  },
};

/** The leader can't renew its lease, and neither can anybody take it: some statement is in the way. */
const leaseLocked: Fault = {
  name: "lease-locked",
  targets: target,
  lastsMs: lockMs.highMs + 500,
  weight: 2,
  inject: (stage, { random }) =>
    withClient(stage, async (client) => {
      await client.query("BEGIN");
      await client.query("SELECT FROM tallyman.scheduler_leader_lease FOR UPDATE");
      await sleep(between(lockMs.lowMs, lockMs.highMs, random));
      await client.query("ROLLBACK");
      return "done";
    }),
};
