import { TallymanError } from "../errors/index.ts";
import type { Database } from "./database.ts";
import { type Migration, readMigrations } from "./migrations.ts";
import {
  type AppliedMigrations,
  appliedMigrations,
  createMigrationTable,
  lockMigrations,
  type MigrationSchema,
  recordMigration,
} from "./sql/migration.ts";
import { errorCodeOf, retryClassOf } from "./sqlstate.ts";
import type { Transaction } from "./transaction.ts";

const insufficientPrivilege = "42501";

/** What {@link migrate} found or did. */
export interface MigrationReport {
  readonly schema: string;
  /** Level of this program: its newest migration. */
  readonly codeVersion: number;
  /** Names of the migrations that this call applied. */
  readonly applied: readonly string[];
  /** Names of those still missing; only a dry run leaves any. */
  readonly pending: readonly string[];
}

/**
 * Brings Tallyman's schema up to this program's level. Each migration is one transaction under a
 * lock, so any number of processes may call this at once: one applies, the others find it done.
 *
 * @param options.dryRun only report what is pending
 * @throws TallymanError DATABASE_TOO_NEW when a newer program migrated the database beyond what this
 * one can work with; MIGRATION_FAILED with the server's reason
 * @example
 * ```ts
 * const { pending } = await migrate(database, { dryRun: true });
 * ```
 */
export async function migrate(
  database: Database,
  options: { dryRun?: boolean } = {},
): Promise<MigrationReport> {
  const target: MigrationSchema = { schema: database.names.schema, placeholder: "tallyman" };
  return migrateSchema(database, target, await readMigrations("platform"), options.dryRun);
}

/** Applies `migrations` to one schema; for run schemas the executor knows the run. */
export async function migrateSchema(
  database: Database,
  target: MigrationSchema,
  migrations: readonly Migration[],
  dryRun = false,
): Promise<MigrationReport> {
  const codeVersion = migrations.at(-1)?.version ?? 0;
  const applied: string[] = [];
  let pending = pendingOf(
    migrations,
    await database.transaction((tx) => readApplied(tx, target)),
    codeVersion,
  );
  while (pending.length > 0 && !dryRun) {
    const done = await database.transaction((tx) => applyNext(tx, target, migrations, codeVersion));
    if (done === undefined) break;
    applied.push(done.name);
    pending = pending.filter((migration) => migration.version > done.version);
  }
  return {
    schema: target.schema,
    codeVersion,
    applied,
    pending: dryRun ? pending.map((migration) => migration.name) : [],
  };
}

async function readApplied(tx: Transaction, target: MigrationSchema): Promise<AppliedMigrations | undefined> {
  return appliedMigrations(scoped(tx, target), target);
}

/** Applies the first pending migration; undefined when another process left none. */
async function applyNext(
  tx: Transaction,
  target: MigrationSchema,
  migrations: readonly Migration[],
  codeVersion: number,
): Promise<Migration | undefined> {
  const scope = scoped(tx, target);
  await lockMigrations(scope, target);
  await createMigrationTable(scope, target).catch((cause: unknown) => {
    throw migrationError(cause, target);
  });
  const [next] = pendingOf(migrations, await appliedMigrations(scope, target), codeVersion);
  if (!next) return undefined;
  await scope.query(next.text).catch((cause: unknown) => {
    throw migrationError(cause, target, next.name);
  });
  await recordMigration(scope, target, next);
  return next;
}

/** What to throw for a statement that failed; an error that is worth another try stays as it is. */
function migrationError(cause: unknown, { schema }: MigrationSchema, migration?: string): unknown {
  if (retryClassOf(cause) !== undefined) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const advice =
    errorCodeOf(cause) === insufficientPrivilege
      ? ". Migrate as the schema's owner; 'tallyman migrate --print-roles' tells which role may do what."
      : "";
  const what = migration === undefined ? "The record of migrations" : `Migration ${migration}`;
  return new TallymanError(
    "MIGRATION_FAILED",
    `${what} of schema ${schema} was rolled back: ${reason}${advice}`,
    { cause, details: { ...(migration && { migration }), schema } },
  );
}

function scoped(tx: Transaction, target: MigrationSchema): Transaction {
  return target.placeholder === "sim" ? tx.forRun(target.schema) : tx;
}

function pendingOf(
  migrations: readonly Migration[],
  applied: AppliedMigrations | undefined,
  codeVersion: number,
): Migration[] {
  if (applied && applied.minCodeVersion > codeVersion) {
    throw new TallymanError(
      "DATABASE_TOO_NEW",
      `The database needs a Tallyman of migration level ${applied.minCodeVersion} or newer; this one has ${codeVersion}. Upgrade Tallyman.`,
      { details: { needed: applied.minCodeVersion, found: codeVersion } },
    );
  }
  const done = new Set(applied?.versions);
  return migrations.filter((migration) => !done.has(migration.version));
}
