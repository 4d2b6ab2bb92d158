import { isTallymanError } from "../errors/index.ts";

/**
 * What a failed statement means for a retry.
 *
 * - `rolled-back`: the server undid the transaction; running it again is safe.
 * - `connection-lost`: the connection broke or could not be made; safe to run again unless COMMIT had
 *   been sent, for then nobody knows whether it counts.
 */
export type RetryClass = "rolled-back" | "connection-lost";

/** The one table of retryable conditions: SQLSTATEs, and the codes of Node's sockets. */
const retryable: Readonly<Record<string, RetryClass>> = {
  "40001": "rolled-back", // serialization_failure
  "40P01": "rolled-back", // deadlock_detected
  "55P03": "rolled-back", // lock_not_available
  "08000": "connection-lost", // connection_exception
  "08001": "connection-lost", // sqlclient_unable_to_establish_sqlconnection
  "08003": "connection-lost", // connection_does_not_exist
  "08004": "connection-lost", // sqlserver_rejected_establishment_of_sqlconnection
  "08006": "connection-lost", // connection_failure
  "08P01": "connection-lost", // protocol_violation: PgBouncer's word for a lost server
  "53300": "connection-lost", // too_many_connections
  "57P01": "connection-lost", // admin_shutdown
  "57P02": "connection-lost", // crash_shutdown
  "57P03": "connection-lost", // cannot_connect_now
  "57P05": "connection-lost", // idle_session_timeout
  "25P03": "connection-lost", // idle_in_transaction_session_timeout
  ECONNREFUSED: "connection-lost",
  ECONNRESET: "connection-lost",
  EPIPE: "connection-lost",
  ETIMEDOUT: "connection-lost",
  EHOSTUNREACH: "connection-lost",
  ENETUNREACH: "connection-lost",
};

/** `pg` reports a broken socket by message alone. */
const lostConnectionPattern =
  /^Connection terminated|Client has encountered a connection error|^timeout expired/;

/** The SQLSTATE or socket code of an error, or of the error underneath. */
export function errorCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { code?: unknown };
  if (typeof code === "string") return code;
  if (error instanceof AggregateError) return errorCodeOf(error.errors[0]);
  return undefined;
}

/** Whether and how an operation that failed with this error may be tried again. */
export function retryClassOf(error: unknown): RetryClass | undefined {
  if (isTallymanError(error, "DATABASE_UNREACHABLE")) return "connection-lost";
  const code = errorCodeOf(error);
  if (code !== undefined && retryable[code]) return retryable[code];
  if (error instanceof Error && lostConnectionPattern.test(error.message)) return "connection-lost";
  return undefined;
}
