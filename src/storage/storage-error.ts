import { TallymanError } from "../errors/index.ts";

/** The system says that there is no room: of the disk, of the quota, or for a file of this size. */
const fullCodes = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
const missingCodes = new Set(["ENOENT", "ENOTDIR"]);

/** A failure of the file system, told as a storage's failure: what was tried, on what, and why not. */
export function fileSystemError(error: unknown, action: "read" | "write" | "list", key: string): unknown {
  const code = systemCode(error);
  if (code === undefined) return error;
  const reason = (error as Error).message;
  const details = { key, reason: code };
  if (action === "read" && missingCodes.has(code)) return notFound(key, error);
  if (fullCodes.has(code)) {
    const message = `There is no room to ${action} ${key}: ${reason}. Nothing of it is visible; free space and write it again.`;
    return new TallymanError("STORAGE_FULL", message, { details, cause: error });
  }
  return new TallymanError("STORAGE_UNAVAILABLE", `Could not ${action} ${key}: ${reason}.`, {
    details,
    cause: error,
  });
}

/** A key without a file. */
export function notFound(key: string, cause?: unknown): TallymanError {
  return new TallymanError("STORAGE_FILE_NOT_FOUND", `There is no file ${key} in the storage.`, {
    details: { key },
    cause,
  });
}

/** `ENOENT` and its like; undefined for errors that are not the operating system's. */
export function systemCode(error: unknown): string | undefined {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return error instanceof Error && typeof code === "string" && syscall !== undefined ? code : undefined;
}
