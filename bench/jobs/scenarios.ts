import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { CommandBus } from "../../src/commands/index.ts";
import type { Database } from "../../src/database/index.ts";
import { sleep } from "../../src/runtime/index.ts";
import { SchedulerWorker } from "../../src/scheduler/index.ts";
import { pgbenchRate } from "../harness/pgbench.ts";
import { type Due, firesPerStatement, pgbenchScript, seedJobs, workers } from "./seed.ts";

/** What a scenario works with. */
export interface JobsBench {
  readonly database: Database;
  readonly url: string;
  readonly jobs: number;
  readonly seconds: number;
}

async function fires(database: Database): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    "SELECT sum(fire_count)::bigint AS n FROM tallyman.scheduler_job_state",
  );
  return rows[0]?.n ?? 0;
}

/** Runs four workers for so long; returns the fires per second that are durable, and this process's CPU for each. */
async function runWorkers({ database, seconds }: JobsBench) {
  await using bus = new CommandBus(database);
  const started = workers.map(
    (workerId) => new SchedulerWorker(database, bus, { workerId, firesMax: firesPerStatement }),
  );
  for (const worker of started) await worker.start();
  await database.query(
    "UPDATE tallyman.scheduler_segment SET status = 'ASSIGNED', worker_id = 'w' || segment_id % $1, assigned_at = clock_timestamp()",
    [workers.length],
  );
  await waitFor(() => started.every(({ segments }) => segments.length > 0));
  const before = await fires(database);
  const cpu = process.cpuUsage();
  const server = await serverCpu(database);
  const startMs = performance.now();
  await sleep(seconds * 1_000);
  const used = process.cpuUsage(cpu);
  const serverSeconds = await serverCpuSince(database, server);
  const fired = (await fires(database)) - before;
  const perSecond = Math.round(fired / ((performance.now() - startMs) / 1_000));
  for (const worker of started) await worker.stop();
  const micros = (cpuSeconds: number) => Number(((cpuSeconds * 1e6) / Math.max(1, fired)).toFixed(1));
  const nodeMicrosPerFire = micros((used.user + used.system) / 1e6);
  return { perSecond, fired, nodeMicrosPerFire, serverMicrosPerFire: micros(serverSeconds) };
}

async function waitFor(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(10);
}

/** Interval jobs, all of them due, fired by the workers; then the rest by the same statement through pgbench. */
export async function intervalFires(bench: JobsBench) {
  const { database, url, seconds } = bench;
  await seedJobs(database, { count: bench.jobs, kind: "interval", due: "now" });
  const ours = await runWorkers(bench);
  await database.query(
    "UPDATE tallyman.scheduler_segment SET status = 'ASSIGNED', worker_id = 'w' || segment_id % $1, assigned_at = clock_timestamp(), epoch = 1",
    [workers.length],
  );
  const before = await fires(database);
  const startMs = performance.now();
  await pgbenchRate({ url, script: pgbenchScript(), clients: workers.length, seconds });
  const pgbench = Math.round(((await fires(database)) - before) / ((performance.now() - startMs) / 1_000));
  const ratio = Number((ours.perSecond / Math.max(1, pgbench)).toFixed(2));
  return { jobs: bench.jobs, ...ours, pgbenchPerSecond: pgbench, ratio, load: loadavg()[0] };
}

/** Cron jobs: eight patterns in eight zones that all share, then a pattern for each job. */
export async function cronFires(bench: JobsBench) {
  const rates: Record<string, unknown> = {};
  for (const kind of ["cron-shared", "cron-distinct"] as const) {
    await bench.database.query("TRUNCATE tallyman.scheduler_job CASCADE");
    await seedJobs(bench.database, { count: Math.ceil(bench.jobs / 2), kind, due: "now" });
    rates[kind] = await runWorkers(bench);
  }
  return { jobs: Math.ceil(bench.jobs / 2), ...rates, load: loadavg()[0] };
}

/** Nothing is due: what the looking costs. */
export async function idleScan(bench: JobsBench) {
  const { database, seconds } = bench;
  await seedJobs(database, { count: bench.jobs, kind: "interval", due: "never" satisfies Due });
  await using bus = new CommandBus(database);
  const started = workers.map((workerId) => new SchedulerWorker(database, bus, { workerId }));
  for (const worker of started) await worker.start();
  await database.query(
    "UPDATE tallyman.scheduler_segment SET status = 'ASSIGNED', worker_id = 'w' || segment_id % $1, assigned_at = clock_timestamp()",
    [workers.length],
  );
  await waitFor(() => started.every(({ segments }) => segments.length > 0));
  await sleep(3_000); // code is compiled, connections are open
  const node = process.cpuUsage();
  const server = await serverCpu(database);
  const startMs = performance.now();
  await sleep(seconds * 1_000);
  const used = process.cpuUsage(node);
  const wall = (performance.now() - startMs) / 1_000;
  const percent = (cpuSeconds: number) => Number(((cpuSeconds / wall) * 100).toFixed(2));
  const workersPercent = percent((used.user + used.system) / 1e6);
  const serverPercent = percent(await serverCpuSince(database, server));
  for (const worker of started) await worker.stop();
  return { jobs: bench.jobs, workersPercent, serverPercent, load: loadavg()[0] };
}

const ticksPerSecond = 100;

/** CPU seconds of our connections' server processes, by process. */
async function serverCpu(database: Database): Promise<Map<number, number>> {
  const { rows } = await database.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'tallyman'",
  );
  return new Map(
    rows.map(({ pid }) => {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return [pid, (Number(fields[11]) + Number(fields[12])) / ticksPerSecond];
    }),
  );
}

/** What those that run now have used since; one that has ended meanwhile is not counted. */
async function serverCpuSince(database: Database, before: ReadonlyMap<number, number>): Promise<number> {
  const now = await serverCpu(database);
  return [...now].reduce((sum, [pid, seconds]) => sum + seconds - (before.get(pid) ?? 0), 0);
}
