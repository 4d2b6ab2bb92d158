import type { BatchStorage, CodecName } from "../../storage/index.ts";

/** One storage under test, empty at the beginning of each case. */
export interface StorageConformanceContext {
  /** A storage on the place under test; each call opens one more, as another process would. */
  open(options?: { readonly codec?: CodecName }): BatchStorage;
  /** Puts bytes under a name, past the storage. */
  writeRaw(key: string, bytes: Uint8Array): Promise<void>;
  /** The stored bytes, past the storage. */
  readRaw(key: string): Promise<Buffer>;
  /** Takes a file away, past the storage. */
  remove(key: string): Promise<void>;
  /** False for a place that can't tell two writers of one key at one moment apart. */
  readonly exclusiveCreate: boolean;
}

/** One promise of a storage, as a test that throws when it is broken. */
export interface StorageConformanceCase {
  readonly name: string;
  run(context: StorageConformanceContext): Promise<void>;
}
