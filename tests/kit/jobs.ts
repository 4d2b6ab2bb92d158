import { expect } from "vitest";
import { CommandBus } from "../../src/commands/index.ts";
import type { Database, Transaction } from "../../src/database/index.ts";
import {
  Coordinator,
  JobStore,
  SchedulerWorker,
  type SchedulerWorkerOptions,
} from "../../src/scheduler/index.ts";
import { nextAfter, type Times } from "../../src/scheduler/schedule.ts";
import type { TestContext } from "../../src/testing/index.ts";

/** A bus and a job store on the test's database. */
export function openJobs(t: TestContext): { bus: CommandBus; jobs: JobStore } {
  const bus = t.use(new CommandBus(t.database));
  return { bus, jobs: new JobStore(t.database, bus) };
}

/** A command job for the domain "d". */
export const command = { domain: "d", commandType: "T", data: { n: 1 } } as const;

/** Gives segments (default: all) to a worker as a leader would; returns the grants. */
export async function grant(database: Database, workerId: string, segments?: readonly number[]) {
  const { rows } = await database.query<{ segmentId: number; epoch: number }>(
    `UPDATE tallyman.scheduler_segment SET status = 'ASSIGNED', worker_id = $1, assigned_at = clock_timestamp(),
       revoke_deadline = NULL, epoch = epoch + 1
     WHERE $2::int[] IS NULL OR segment_id = ANY ($2) RETURNING segment_id AS "segmentId", epoch`,
    [workerId, segments ?? null],
  );
  return rows.sort((a, b) => a.segmentId - b.segmentId);
}

/** Moves every job's schedule and next time by so much into the past, as if it had been made earlier. */
export async function age(database: Database, interval: string): Promise<void> {
  await database.query(
    "UPDATE tallyman.scheduler_job SET anchor_at = anchor_at - $1::interval, start_at = start_at - $1::interval",
    [interval],
  );
  await database.query(
    "UPDATE tallyman.scheduler_job_state SET next_fire_at = next_fire_at - $1::interval, due_at = due_at - $1::interval",
    [interval],
  );
}

/** A coordinator that elects itself at once, reacts fast, and leads on when the machine is busy. */
export async function startCoordinator(t: TestContext): Promise<Coordinator> {
  const coordinator = t.use(
    new Coordinator(t.database, {
      coordinatorId: "c",
      port: 1,
      scanIntervalMs: 50,
      joinDelayMs: 0,
      leaseMs: 30_000,
      renewMs: 500,
    }),
  );
  await coordinator.start();
  return coordinator;
}

/** A scheduler worker with short waits, stopped with the test; it leaves by itself, never for its silence. */
export async function startSchedulerWorker(
  t: TestContext,
  bus: CommandBus,
  options: Partial<SchedulerWorkerOptions> = {},
): Promise<SchedulerWorker> {
  const worker = t.use(
    new SchedulerWorker(t.database, bus, {
      heartbeatIntervalMs: 100,
      heartbeatTimeoutMs: 20_000,
      pollIntervalMs: 100,
      gatherMs: 1,
      ...options,
    }),
  );
  await worker.start();
  return worker;
}

interface Account {
  readonly ledger: readonly LedgerRow[];
  /** Commands and batches on the bus that jobs have sent at their times. */
  readonly sent: number;
}

interface LedgerRow extends Times {
  readonly jobKey: string;
  readonly nextFireMs: number | null;
  readonly fires: readonly {
    readonly ms: number;
    readonly until: number | null;
    readonly outcome: string;
    readonly runs: number;
  }[];
}

/**
 * The account of all fires (invariants 6 and 7): walking through each job's schedule from its first recorded time,
 * every time before the next one has exactly one fire, with exactly one command on the bus, or lies in exactly
 * one missed range. Returns how many fired.
 */
export async function accountForFires(database: Database): Promise<number> {
  const { ledger, sent } = await database.transaction(readAccount);
  let fired = 0;
  for (const job of ledger) {
    let expected: number | null = job.fires[0]?.ms ?? job.nextFireMs;
    for (const { ms, until, outcome, runs } of job.fires) {
      expect({ job: job.jobKey, ms, runs }).toEqual({
        job: job.jobKey,
        ms: expected,
        runs: outcome === "FIRED" ? 1 : 0,
      });
      expected = nextAfter(job, until === null ? ms : until - 1);
      if (outcome === "FIRED") fired++;
    }
    if (job.fires.length > 0)
      expect({ job: job.jobKey, next: job.nextFireMs }).toEqual({ job: job.jobKey, next: expected });
  }
  expect({ sent }).toEqual({ sent: fired });
  return fired;
}

/** All as of one moment: a statement of a worker that was killed may still be carried out. */
async function readAccount(tx: Transaction): Promise<Account> {
  await tx.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  const { rows: ledger } = await tx.query<LedgerRow>(
    `SELECT j.job_key AS "jobKey", j.schedule_kind AS kind, j.every_ms AS "everyMs", j.cron, j.time_zone AS "timeZone",
            (date_part('epoch', j.anchor_at) * 1000)::bigint AS "anchorMs", (date_part('epoch', j.start_at) * 1000)::bigint AS "startMs",
            (date_part('epoch', j.end_at) * 1000)::bigint AS "endMs", (date_part('epoch', s.next_fire_at) * 1000)::bigint AS "nextFireMs",
            (SELECT coalesce(json_agg(json_build_object('ms', date_part('epoch', f.fire_time) * 1000,
                'until', date_part('epoch', f.missed_until) * 1000, 'outcome', f.outcome, 'runs',
                (SELECT count(*) FROM tallyman.command_bus_command c WHERE c.domain = j.domain AND c.command_id = f.run_id)
                + (SELECT count(*) FROM tallyman.command_bus_batch b WHERE b.batch_id = f.run_id)) ORDER BY f.fire_time), '[]')
             FROM tallyman.scheduler_fire f WHERE f.job_id = j.job_id AND NOT f.is_manual) AS fires
     FROM tallyman.scheduler_job j JOIN tallyman.scheduler_job_state s USING (job_id) ORDER BY j.job_key`,
  );
  const { rows } = await tx.query<{ sent: number }>(
    `SELECT (SELECT count(*) FROM tallyman.command_bus_command WHERE batch_id IS NULL)
          + (SELECT count(*) FROM tallyman.command_bus_batch) - (SELECT count(*) FROM tallyman.scheduler_fire WHERE is_manual) AS sent`,
  );
  return { ledger, sent: Number(rows[0]?.sent) };
}
