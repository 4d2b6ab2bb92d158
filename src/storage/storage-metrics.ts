import { isTallymanError } from "../errors/index.ts";
import {
  Counter,
  ErrorLog,
  latencyMetrics,
  type OperationalErrorCode,
  TimedOperation,
} from "../monitoring/index.ts";
import type { BatchFile } from "./batch-file.ts";

/** What a storage counts and times. */
export class StorageMetrics {
  readonly errors = new ErrorLog();
  readonly batchesWritten = new Counter();
  readonly batchesRead = new Counter();
  readonly bytesWritten = new Counter();
  readonly bytesRead = new Counter();
  readonly filesListed = new Counter();
  readonly corruptFiles = new Counter();
  readonly writeBatch: TimedOperation;
  readonly readBatch: TimedOperation;
  readonly writeMessage: TimedOperation;
  readonly readMessage: TimedOperation;
  readonly listFiles: TimedOperation;
  #healthy = true;

  constructor(windowSeconds: number) {
    const operation = (code: OperationalErrorCode, message: string) =>
      new TimedOperation({ code, message, errors: this.errors, windowSeconds });
    this.writeBatch = operation("WRITE_BATCH_FAILED", "Failed to write a batch file");
    this.readBatch = operation("READ_BATCH_FAILED", "Failed to read a batch file");
    this.writeMessage = operation("WRITE_MESSAGE_FAILED", "Failed to write a message");
    this.readMessage = operation("READ_MESSAGE_FAILED", "Failed to read a message");
    this.listFiles = operation("LIST_BATCH_FILES_FAILED", "Failed to list batch files");
  }

  /** False after an operation failed for the storage's sake, until one succeeds. */
  get healthy(): boolean {
    return this.#healthy;
  }

  /** Runs an operation and keeps its time, its failure, and what the failure says about the storage. */
  async run<T>(operation: TimedOperation, details: string, work: () => Promise<T>): Promise<T> {
    try {
      const result = await operation.run(details, work);
      this.#healthy = true;
      return result;
    } catch (error) {
      if (isTallymanError(error, "BATCH_CORRUPT")) this.corruptFiles.increment();
      if (isTallymanError(error, "STORAGE_UNAVAILABLE") || isTallymanError(error, "STORAGE_FULL"))
        this.#healthy = false;
      throw error;
    }
  }

  written(file: BatchFile): void {
    this.batchesWritten.increment();
    this.bytesWritten.increment(file.bytes);
  }

  read(file: BatchFile): void {
    this.batchesRead.increment();
    this.bytesRead.increment(file.bytes);
  }

  values(): Readonly<Record<string, number>> {
    return {
      batches_written: this.batchesWritten.value,
      batches_read: this.batchesRead.value,
      bytes_written: this.bytesWritten.value,
      bytes_read: this.bytesRead.value,
      files_listed: this.filesListed.value,
      corrupt_files: this.corruptFiles.value,
      write_errors: this.writeBatch.failures.value + this.writeMessage.failures.value,
      read_errors: this.readBatch.failures.value + this.readMessage.failures.value,
      error_count: this.errors.size,
      ...latencyMetrics("write_batch_latency", this.writeBatch.latency),
      ...latencyMetrics("read_batch_latency", this.readBatch.latency),
      ...latencyMetrics("list_batch_files_latency", this.listFiles.latency),
    };
  }
}
