import type { Executor } from "../executor.ts";

/**
 * Enters a run in the register; a run that is there already stays as it is. No constraint is named: of two that
 * enter a run at the same moment, one may meet the other at the schema's name before it does at the id.
 */
export async function registerRun(executor: Executor, runId: string, schema: string): Promise<void> {
  await executor.query(
    "INSERT INTO tallyman.simulation_run (run_id, schema_name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    [runId, schema],
  );
}

/** A run of the register. */
export interface RegisteredRun {
  readonly runId: string;
  readonly schemaName: string;
  readonly createdAt: Date;
}

const runColumns = `run_id AS "runId", schema_name AS "schemaName", created_at AS "createdAt"`;

/** A run whose schema was dropped by hand has no tables to look at. */
const hasSchema = "EXISTS (SELECT FROM pg_namespace WHERE nspname = schema_name)";

/** One run of the register that has its tables. */
export async function findRun(executor: Executor, runId: string): Promise<RegisteredRun | undefined> {
  const { rows } = await executor.query<RegisteredRun>(
    `SELECT ${runColumns} FROM tallyman.simulation_run WHERE run_id = $1 AND ${hasSchema}`,
    [runId],
  );
  return rows[0];
}

/** Runs that have their tables, the newest first; `cursor` is the last run of the page before. */
export async function newestRuns(
  executor: Executor,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<RegisteredRun[]> {
  const { rows } = await executor.query<RegisteredRun>(
    `SELECT ${runColumns} FROM tallyman.simulation_run
     WHERE ${hasSchema} AND ($2::text IS NULL OR (created_at, run_id) <
       (SELECT before.created_at, before.run_id FROM tallyman.simulation_run before WHERE before.run_id = $2))
     ORDER BY created_at DESC, run_id DESC LIMIT $1`,
    [limit, cursor ?? null],
  );
  return rows;
}

/** The register of runs, the oldest first. */
export async function registeredRuns(executor: Executor): Promise<RegisteredRun[]> {
  const { rows } = await executor.query<RegisteredRun>(
    `SELECT ${runColumns} FROM tallyman.simulation_run ORDER BY created_at, run_id`,
  );
  return rows;
}
