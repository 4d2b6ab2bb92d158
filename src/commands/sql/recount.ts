import type { Executor } from "../../database/index.ts";

/** A batch whose stored counters differ from a count of its commands. */
export interface Miscount {
  readonly batchId: string;
  readonly domain: string;
  readonly stored: Readonly<Record<string, number>>;
  readonly counted: Readonly<Record<string, number>>;
}

/**
 * Counts the commands of every batch anew, in one snapshot, and returns the batches where a counter or the
 * state differs. Reads all commands that belong to batches: for checks, not for every minute.
 */
export async function recountBatches(
  executor: Executor,
): Promise<{ batches: number; miscounts: Miscount[] }> {
  const { rows } = await executor.query<{ batches: number; miscounts: Miscount[] }>(
    `WITH counted AS (
       SELECT c.batch_id, count(*) AS total,
              count(*) FILTER (WHERE c.status = 'COMPLETED') AS completed,
              count(*) FILTER (WHERE c.status = 'FAILED') AS failed,
              count(*) FILTER (WHERE c.status = 'CANCELED') AS canceled,
              count(*) FILTER (WHERE c.status = 'IN_TROUBLESHOOTING_QUEUE') AS troubleshooting
       FROM tallyman.command_bus_command c WHERE c.batch_id IS NOT NULL GROUP BY c.batch_id
     ), compared AS (
       SELECT b.batch_id, b.domain,
              jsonb_build_object('total', b.total_count, 'completed', b.completed_count, 'failed', b.failed_count,
                'canceled', b.canceled_count, 'inTroubleshooting', b.in_troubleshooting_count,
                'finished', (b.completed_at IS NOT NULL)::integer) AS stored,
              jsonb_build_object('total', coalesce(c.total, 0), 'completed', coalesce(c.completed, 0),
                'failed', coalesce(c.failed, 0), 'canceled', coalesce(c.canceled, 0),
                'inTroubleshooting', coalesce(c.troubleshooting, 0),
                'finished', (b.is_sealed AND coalesce(c.completed + c.failed + c.canceled, 0) = coalesce(c.total, 0))::integer)
                AS counted
       FROM tallyman.command_bus_batch b LEFT JOIN counted c USING (batch_id) WHERE b.pruned_at IS NULL)
     SELECT count(*)::integer AS batches,
            coalesce(jsonb_agg(jsonb_build_object('batchId', batch_id, 'domain', domain, 'stored', stored, 'counted', counted))
              FILTER (WHERE stored <> counted), '[]') AS miscounts
     FROM compared`,
  );
  return rows[0] ?? { batches: 0, miscounts: [] };
}

/** The state of the bus in figures. */
export interface BusStats {
  readonly ready: number;
  readonly waiting: number;
  readonly inProgress: number;
  readonly inTroubleshooting: number;
  /** Age of the oldest command that is ready, null when none is. */
  readonly oldestReadyMs: number | null;
  readonly pausedDomains: readonly string[];
  /** Transactions between the oldest one that is open and now; a high number keeps dead rows alive. */
  readonly xminAge: number;
  readonly deadTuples: number;
  readonly liveTuples: number;
}

/** Figures for `doctor` and dashboards; reads only small indexes and statistics. */
export async function selectStats(executor: Executor): Promise<BusStats> {
  const { rows } = await executor.query<BusStats>(
    `SELECT
       (SELECT coalesce(sum(cardinality(command_rows)), 0) FROM tallyman.command_bus_queue WHERE run_at IS NULL)::integer
         AS ready,
       (SELECT coalesce(sum(cardinality(command_rows)), 0) FROM tallyman.command_bus_queue WHERE run_at IS NOT NULL)::integer
         AS waiting,
       (SELECT coalesce(sum(cardinality(command_rows)), 0) FROM tallyman.command_bus_lease)::integer AS "inProgress",
       (SELECT count(*) FROM tallyman.command_bus_command WHERE troubleshooting_at IS NOT NULL)::integer AS "inTroubleshooting",
       (SELECT extract(epoch FROM clock_timestamp() - created_at) * 1000 FROM tallyman.command_bus_command
        WHERE id = (SELECT min(first_id) FROM tallyman.command_bus_queue WHERE run_at IS NULL))::double precision
         AS "oldestReadyMs",
       ARRAY (SELECT domain::text FROM tallyman.command_bus_domain WHERE paused_at IS NOT NULL ORDER BY 1) AS "pausedDomains",
       (SELECT coalesce(max(age(backend_xmin)), 0) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid())::integer AS "xminAge",
       coalesce(s.n_dead_tup, 0)::integer AS "deadTuples", coalesce(s.n_live_tup, 0)::integer AS "liveTuples"
     FROM (SELECT) one
     LEFT JOIN pg_stat_user_tables s ON s.relid = 'tallyman.command_bus_command'::regclass`,
  );
  const [stats] = rows;
  if (!stats) throw new Error("unreachable: a query without FROM rows");
  return stats;
}
