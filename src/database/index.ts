/**
 * The database: one PostgreSQL, reached through a pool, or embedded.
 *
 * Model. A {@link Database} is a pool whose connections are acquired by the statement that needs one
 * and go back at once. A {@link Transaction} is a type of its own; callers may bring theirs. Tables
 * live in the schema `tallyman` (configurable) and, for each simulation run, in a schema of its own;
 * statements name them `tallyman.x` and `sim.x`, whatever the real names are.
 *
 * Time. Only the database's clock is compared with stored times, and it is `clock_timestamp()`:
 * `now()` is the start of the transaction, which may be long ago when it waited for a lock.
 *
 * Locks. A lock taken inside the statement that reads is too late, for its snapshot is older than the
 * lock: where a decision depends on rows that others may change, lock in an earlier statement of the
 * same transaction. Take row locks in one global order.
 *
 * PgBouncer. No session state on pooled connections: no session locks, no SET, no named prepared
 * statements. LISTEN has a direct connection of its own and is only a hint.
 *
 * Failure. Deadlocks and lost connections are retried by the transaction as long as COMMIT was not
 * sent; after that the outcome is unknown and says so (COMMIT_UNKNOWN). An embedded server that is
 * gone is started again by whoever notices.
 */
export { Database, type RunDatabase } from "./database.ts";
export { rolesScript } from "./database-roles.ts";
export { parseDatabaseUrl, redactUrl } from "./database-url.ts";
export { EmbeddedServer, type EmbeddedServerOptions } from "./embedded/embedded-server.ts";
export { freePort } from "./embedded/postmaster.ts";
export type { CallerClient, Executor, QueryResult } from "./executor.ts";
export { type HintHandler, Listener } from "./listener.ts";
export { readMigrations } from "./migrations.ts";
export { type MigrationReport, migrate } from "./migrator.ts";
export { pipelined } from "./pipelined.ts";
export type { DatabaseOptions, PoolStats } from "./pool.ts";
export {
  ensureRunSchema,
  openRun,
  runIdPatternText,
  runNotFound,
  runSchemaName,
  validateRunId,
} from "./run-schema.ts";
export { quoteIdentifier } from "./schema-names.ts";
export { schemaSnapshot } from "./schema-snapshot.ts";
export { serverConnections, serverNow, serverVersion } from "./sql/server-facts.ts";
export { findRun, newestRuns, type RegisteredRun, registeredRuns } from "./sql/simulation-run.ts";
export { errorCodeOf, type RetryClass, retryClassOf } from "./sqlstate.ts";
export { Transaction } from "./transaction.ts";
