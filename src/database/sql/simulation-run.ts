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

/** Whether a schema of this name exists. */
export async function schemaExists(executor: Executor, schema: string): Promise<boolean> {
  const { rowCount } = await executor.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
  return rowCount === 1;
}

/** A run of the register. */
export interface RegisteredRun {
  readonly runId: string;
  readonly schemaName: string;
  readonly createdAt: Date;
}

/** The register of runs, the oldest first. */
export async function registeredRuns(executor: Executor): Promise<RegisteredRun[]> {
  const { rows } = await executor.query<RegisteredRun>(
    `SELECT run_id AS "runId", schema_name AS "schemaName", created_at AS "createdAt"
     FROM tallyman.simulation_run ORDER BY created_at, run_id`,
  );
  return rows;
}
