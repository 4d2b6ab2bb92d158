import { resolve } from "node:path";
import { didYouMean, TallymanError } from "../errors/index.ts";
import type { BatchStorage } from "./batch-storage.ts";
import { FileSystemStorage } from "./batch-storage-filesystem.ts";
import { S3Storage } from "./batch-storage-s3.ts";

/** A storage as the configuration names it: a class and its options, not yet checked. */
export interface StorageResource {
  readonly className: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The classes that {@link openStorage} knows. */
export const storageClassNames: readonly string[] = ["FileSystemStorage", "S3Storage"];

const rootDirectoryDefault = ".tallyman/storage";

/**
 * Opens the storage that a configuration names. Nothing is read or written yet.
 *
 * @param folder - where a relative `rootDirectory` begins
 * @throws TallymanError INVALID_OPTION for an unknown class, an unknown option or a wrong value
 * @example
 * ```ts
 * const storage = openStorage({ className: "FileSystemStorage", options: { rootDirectory: "ticks" } });
 * ```
 */
export function openStorage(resource: StorageResource, folder = process.cwd()): BatchStorage {
  const { className, options } = resource;
  if (className === "S3Storage") return new S3Storage(options as { bucket: string });
  if (className === "FileSystemStorage") {
    const rootDirectory = resolve(folder, String(options.rootDirectory ?? rootDirectoryDefault));
    return new FileSystemStorage({ ...options, rootDirectory });
  }
  const hint = didYouMean(className, storageClassNames);
  throw new TallymanError("INVALID_OPTION", `There is no storage class '${className}'. ${hint}`, {
    details: { className },
  });
}
