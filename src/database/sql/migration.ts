import type { Executor } from "../executor.ts";
import { quoteIdentifier } from "../schema-names.ts";
import type { Transaction } from "../transaction.ts";

/** A schema that migrations are applied to, and the name that its statements write for it. */
export interface MigrationSchema {
  readonly schema: string;
  readonly placeholder: "tallyman" | "sim";
}

/** What a schema's record of migrations says. */
export interface AppliedMigrations {
  readonly versions: readonly number[];
  readonly minCodeVersion: number;
}

/** Reads the record; undefined when the schema was never migrated. */
export async function appliedMigrations(
  executor: Executor,
  { schema, placeholder }: MigrationSchema,
): Promise<AppliedMigrations | undefined> {
  const { rows: found } = await executor.query<{ oid: string | null }>(
    "SELECT to_regclass($1)::text AS oid",
    [`${quoteIdentifier(schema)}.migration`],
  );
  if (!found[0]?.oid) return undefined;
  const { rows } = await executor.query<AppliedMigrations>(
    `SELECT coalesce(array_agg(version ORDER BY version), '{}') AS versions,
            coalesce(max(min_code_version), 0) AS "minCodeVersion"
     FROM ${placeholder}.migration`,
  );
  return rows[0];
}

/** Waits for other processes that migrate this schema; held until the transaction ends. */
export async function lockMigrations(tx: Transaction, { schema }: MigrationSchema): Promise<void> {
  await tx.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`tallyman migrate ${schema}`]);
}

/**
 * Makes the schema and its record of migrations. Call under {@link lockMigrations}.
 *
 * `IF NOT EXISTS` alone would not do: after the wait for the lock a backend may still remember that there is no
 * such schema. A read of the catalogue's table sees what the others made, and makes the backend forget.
 */
export async function createMigrationTable(
  tx: Transaction,
  { schema, placeholder }: MigrationSchema,
): Promise<void> {
  const { rowCount } = await tx.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
  if (rowCount === 0) await tx.query(`CREATE SCHEMA ${quoteIdentifier(schema)}`);
  await tx.query(
    `CREATE TABLE IF NOT EXISTS ${placeholder}.migration (
       version int PRIMARY KEY,
       name text NOT NULL,
       min_code_version int NOT NULL,
       applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
     )`,
  );
}

/** Records a migration that was applied in this transaction. */
export async function recordMigration(
  tx: Transaction,
  { placeholder }: MigrationSchema,
  migration: { version: number; name: string; minCodeVersion: number },
): Promise<void> {
  await tx.query(
    `INSERT INTO ${placeholder}.migration (version, name, min_code_version) VALUES ($1, $2, $3)`,
    [migration.version, migration.name, migration.minCodeVersion],
  );
}
