/**
 * Storage: batch files, from the moment a producer writes them to the last indexer that reads them.
 *
 * Model. A {@link BatchStorage} holds files of records and single messages, by key. Two drivers move the
 * bytes: {@link FileSystemStorage} a folder, {@link S3Storage} a bucket; others can be written
 * ({@link StorageDriver}). What the bytes mean is the same
 * on both (file-format.ts, docs/decisions/004-batch-file-format.md), so files can be copied from one to
 * the other.
 *
 * Keys. `<run>/raw/<folders>/batch_<first>_<last>.pb[.codec]`. Run, ticks and codec can be read off the
 * key, and which folders can hold files of a tick range follows from the range (batch-file.ts): listing
 * a range reads these folders and no others. A key can't leave the storage's root (storage-key.ts).
 *
 * Invariants. A file is visible as a whole or not at all. A tick range of a run has one file, which
 * never changes; writing it again is harmless, writing other records there is refused. The same records
 * give the same bytes. Every byte of a file is covered by a checksum, and a reader passes over all of
 * them before it hands out the first record. Memory does not grow with a file's size: files are blocks of
 * 256 KB, larger only for a larger record, and a block's size is known before it is decompressed.
 *
 * Listing. Tick order, in pages. A token is a place in that order, so pages survive whatever appears or
 * disappears in between; what appears before the place is for the next listing (gaps are searched by
 * range).
 *
 * Failure. A torn, truncated, altered or misplaced file is a {@link CorruptBatchError} with key, offset
 * and expectation, and nothing of it is handed out. Its producer may write it again: a damaged file is
 * replaced. A full disk (STORAGE_FULL) or a failing one (STORAGE_UNAVAILABLE) leaves nothing visible.
 * What a crash leaves behind, a later writer sweeps.
 */
export { type BatchFile, type BatchFileName, batchNameOf, parseBatchKey } from "./batch-file.ts";
export { type BatchMessage, BatchReader, type RecordDecoder } from "./batch-reader.ts";
export {
  type BatchFilePage,
  BatchStorage,
  type BatchStorageOptions,
  type WriteBatchOptions,
} from "./batch-storage.ts";
export { FileSystemStorage, type FileSystemStorageOptions } from "./batch-storage-filesystem.ts";
export { S3Storage, type S3StorageOptions } from "./batch-storage-s3.ts";
export type { CodecName } from "./block-codec.ts";
export { CorruptBatchError } from "./corrupt-batch-error.ts";
export type { BatchRecord } from "./decode-file.ts";
export type { Records } from "./encode-file.ts";
export { type MessageFile, metadataKey } from "./message-file.ts";
export { openStorage, type StorageResource, storageClassNames } from "./open-storage.ts";
export {
  type InspectRunOptions,
  inspectRun,
  type RunContents,
  type TickRange,
  type UnreadableFile,
} from "./run-contents.ts";
export type { PutMode, RunFolder, StorageDriver, StoredBytes } from "./storage-driver.ts";
