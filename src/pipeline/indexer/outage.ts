import { errorCodeOf, retryClassOf } from "../../database/index.ts";
import { isTallymanError } from "../../errors/index.ts";

/** Errors that say: not now. Nothing is wrong with the file. */
const outageCodes = [
  "DATABASE_UNREACHABLE",
  "DATABASE_POOL_EXHAUSTED",
  "DATABASE_LOGIN_FAILED",
  "EMBEDDED_START_FAILED",
  "COMMIT_UNKNOWN",
  "STORAGE_UNAVAILABLE",
  "NATS_UNREACHABLE",
] as const;

/** Classes of SQLSTATE: insufficient resources, operator intervention, system error. */
const outageClasses = new Set(["53", "57", "58"]);

/** Whether an error is the sink's, the storage's or the network's, so that trying again later may help. */
export function isOutage(error: unknown): boolean {
  if (retryClassOf(error) !== undefined) return true;
  if (outageCodes.some((code) => isTallymanError(error, code))) return true;
  return outageClasses.has(errorCodeOf(error)?.slice(0, 2) ?? "");
}
