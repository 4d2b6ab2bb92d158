/** The bytes of one stored file, as often as they are asked for: always those of the same version. */
export interface StoredBytes {
  readonly size: number;
  /** When the file became visible, by the storage's clock; milliseconds since 1970. */
  readonly writtenAtMs: number;
  /** The bytes from an offset to the end, in chunks; each is good until the next is asked for. */
  stream(from?: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** A run's folder, and when it came to be. */
export interface RunFolder {
  readonly runId: string;
  readonly firstWrittenAtMs: number;
}

/**
 * Where files lie. Drivers move bytes and list names; what the bytes and names mean is not their
 * business. Keys and folders that reach a driver are valid; folders end with '/'.
 */
export interface StorageDriver {
  /** For messages: the root folder, or the bucket. */
  readonly place: string;
  /**
   * Makes the bytes visible under the key, all at once or not at all, and durable before it returns.
   * `create` leaves a file that is there alone and answers "exists"; `replace` takes its place.
   *
   * @throws TallymanError STORAGE_FULL or STORAGE_UNAVAILABLE; the chunks' own errors unchanged
   */
  put(key: string, chunks: AsyncIterable<Uint8Array>, mode: PutMode): Promise<"written" | "exists">;
  /**
   * Opens a file for reading; whoever opens it closes it.
   *
   * @throws TallymanError STORAGE_FILE_NOT_FOUND, STORAGE_UNAVAILABLE
   */
  open(key: string): Promise<StoredBytes>;
  /** Which of a few keys is there, and durable; the first when several are. */
  firstExisting(keys: readonly string[]): Promise<string | undefined>;
  /**
   * Names of what lies directly in a folder, files and folders alike, in any order; none when the folder
   * does not exist. Which is which shows in the name, and asking the system for it would be half the cost.
   */
  listFolder(folder: string): Promise<readonly string[]>;
  /** The runs that have a file, in any order. */
  listRuns(): Promise<RunFolder[]>;
  close(): Promise<void>;
}

/** Whether a file that is there already stays or goes. */
export type PutMode = "create" | "replace";
