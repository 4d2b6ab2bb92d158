import { TallymanError } from "../errors/index.ts";
import { redactUrl } from "./database-url.ts";
import { errorCodeOf, retryClassOf } from "./sqlstate.ts";

const loginCodes = new Set(["28P01", "28000", "3D000"]);
const addressCodes = new Set(["ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ECONNREFUSED", "ETIMEDOUT"]);

/** Says in one line why a connection could not be made, and what to do. */
export function explainConnectError(error: unknown, url: string): Error {
  if (error instanceof TallymanError) return error;
  const code = errorCodeOf(error);
  const reason = error instanceof Error && error.message !== "" ? error.message : String(code);
  const details = { url: redactUrl(url), ...(code !== undefined && { reason: code }) };
  if (code !== undefined && loginCodes.has(code)) {
    const message = `PostgreSQL at ${details.url} refused the log-in: ${reason}. Correct the credentials or the database name in DATABASE_URL.`;
    return new TallymanError("DATABASE_LOGIN_FAILED", message, { cause: error, details });
  }
  if (code === "53300") {
    const message = `PostgreSQL at ${details.url} takes no more connections: ${reason}. Lower the pools' sizes or raise max_connections.`;
    return new TallymanError("DATABASE_UNREACHABLE", message, { cause: error, details });
  }
  if (retryClassOf(error) === "connection-lost" || (code !== undefined && addressCodes.has(code))) {
    const message = `No PostgreSQL answers at ${details.url} (${reason}). Check host, port and firewall, or unset DATABASE_URL for the embedded server.`;
    return new TallymanError("DATABASE_UNREACHABLE", message, { cause: error, details });
  }
  return error instanceof Error ? error : new Error(String(error));
}
