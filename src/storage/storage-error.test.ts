import { describe, expect, it } from "vitest";
import { objectStoreError } from "./object-store-error.ts";
import { fileSystemError } from "./storage-error.ts";

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: write`), { code, syscall: "write" });
}

describe("storage errors", () => {
  it.each([
    ["ENOSPC", "STORAGE_FULL"],
    ["EDQUOT", "STORAGE_FULL"],
    ["EFBIG", "STORAGE_FULL"],
    ["EIO", "STORAGE_UNAVAILABLE"],
    ["EACCES", "STORAGE_UNAVAILABLE"],
    ["EROFS", "STORAGE_UNAVAILABLE"],
    ["EMFILE", "STORAGE_UNAVAILABLE"],
    ["ENOENT", "STORAGE_UNAVAILABLE"],
  ])("tells %s as %s, with key and reason", (code, expected) => {
    expect(fileSystemError(systemError(code), "write", "run-1/x.pb")).toMatchObject({
      code: expected,
      details: { key: "run-1/x.pb" },
      cause: { code },
    });
  });

  it("tells a missing file only where one is read", () => {
    const missing = fileSystemError(systemError("ENOENT"), "read", "run-1/x.pb");
    expect(missing).toMatchObject({ code: "STORAGE_FILE_NOT_FOUND" });
  });

  it("leaves errors of the caller's records alone", () => {
    const own = new Error("the source failed");
    expect(fileSystemError(own, "write", "run-1/x.pb")).toBe(own);
  });

  it.each([
    ["NoSuchKey", 404, "STORAGE_FILE_NOT_FOUND"],
    ["NoSuchBucket", 404, "STORAGE_UNAVAILABLE"],
    ["XMinioStorageFull", 507, "STORAGE_FULL"],
    ["QuotaExceeded", 403, "STORAGE_FULL"],
    ["AccessDenied", 403, "STORAGE_UNAVAILABLE"],
    ["TimeoutError", undefined, "STORAGE_UNAVAILABLE"],
  ])("tells the object store's %s as it is", (name, httpStatusCode, expected) => {
    const error = Object.assign(new Error("no"), { name, $metadata: { httpStatusCode } });
    expect(objectStoreError(error, "read", "run-1/x.pb")).toMatchObject({ code: expected });
  });
});
