import { TallymanError } from "../errors/index.ts";
import { notFound } from "./storage-error.ts";

/** What S3 and its relatives say when there is no room. */
const fullPattern = /StorageFull|QuotaExceeded|InsufficientStorage/i;
const insufficientStorage = 507;

/** A failure of an object store, told as a storage's failure. */
export function objectStoreError(error: unknown, action: string, key: string): unknown {
  if (error instanceof TallymanError) return error;
  const status = statusOf(error);
  const name = error instanceof Error ? error.name : "Error";
  const reason = `${name}: ${error instanceof Error ? error.message : String(error)}`;
  const details = { key, reason: name, status };
  if (status === 404 && name !== "NoSuchBucket") return notFound(key, error);
  if (status === insufficientStorage || fullPattern.test(name)) {
    const message = `There is no room to ${action} ${key} (${reason}). Nothing of it is visible; free space and write it again.`;
    return new TallymanError("STORAGE_FULL", message, { details, cause: error });
  }
  return new TallymanError("STORAGE_UNAVAILABLE", `Could not ${action} ${key} (${reason}).`, {
    details,
    cause: error,
  });
}

/** The HTTP status behind an error of the SDK; undefined when no answer came. */
export function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}
