import { TallymanError } from "../errors/index.ts";
import { logger } from "../runtime/index.ts";
import { type BatchFile, type BatchFileName, batchKey, batchNameOf } from "./batch-file.ts";
import { type CodecName, codecNamed, codecNames } from "./block-codec.ts";
import { CorruptBatchError } from "./corrupt-batch-error.ts";
import { verifyFile } from "./decode-file.ts";
import { FileEncoder, type Records } from "./encode-file.ts";
import type { FileHeader, FileTrailer } from "./file-format.ts";
import type { BatchRange } from "./records.ts";
import type { StorageDriver } from "./storage-driver.ts";

const log = logger("storage");

/** A batch about to be written. */
export interface NewBatch extends BatchRange {
  readonly codec: CodecName;
  /** Full name of the records' message type; empty when unknown. */
  readonly typeName: string;
  readonly records: Records<Uint8Array>;
}

/**
 * Writes a batch unless its range has a file already. A range has one file whatever its codec, so that a
 * producer which restarts with another codec does not write everything twice.
 *
 * @throws TallymanError STORAGE_KEY_INVALID
 */
export async function writeBatchOnce(driver: StorageDriver, batch: NewBatch): Promise<BatchFile> {
  const key = batchKey(batch);
  // Before anything is written: not every run id can be part of a key.
  const name = batchNameOf(key);
  const keys = codecNames.map((codec) => batchKey({ ...batch, codec }));
  const present = await driver.firstExisting(keys);
  if (present !== undefined) return keepOrReplace(driver, batch, present);
  const encoder = encoderOf(batch, batch.codec);
  const outcome = await driver.put(key, encoder.chunks(), "create");
  if (outcome === "exists") return sameOrRefuse(await verified(driver, name), encoder.trailer);
  return batchFile(name, encoder.trailer, Date.now());
}

/** What a file's name and trailer say, together. */
export function batchFile(name: BatchFileName, trailer: FileTrailer, writtenAtMs: number): BatchFile {
  const { fileBytes: bytes, fileCrc: crc, records, rawBytes } = trailer;
  return { ...name, bytes, crc, records, rawBytes, writtenAtMs };
}

/**
 * A file that says it is another one: renamed, or written over.
 *
 * @throws CorruptBatchError
 */
export function refuseStranger(name: BatchFileName, header: FileHeader): void {
  const { key, runId, tickStart, tickEnd, codec } = name;
  const expected = `a batch of run '${runId}', ticks ${tickStart} to ${tickEnd}, codec ${codec}`;
  const found = `a ${header.kind} of run '${header.runId}', ticks ${header.tickStart} to ${header.tickEnd}, codec ${header.codec.name}`;
  if (expected === found) return;
  throw new CorruptBatchError({ key, offset: 0, expected, found });
}

/** The range has a file. Damaged: this batch takes its place. Whole: it must hold the same records. */
async function keepOrReplace(driver: StorageDriver, batch: NewBatch, key: string): Promise<BatchFile> {
  const name = batchNameOf(key);
  const present = await verified(driver, name).catch((error: unknown) => {
    if (error instanceof CorruptBatchError) return error;
    throw error;
  });
  if (!(present instanceof CorruptBatchError)) {
    const encoder = encoderOf(batch, "none");
    for await (const _ of encoder.chunks());
    return sameOrRefuse(present, encoder.trailer);
  }
  log.warn("Replacing a damaged batch file", { key, reason: present.message });
  const encoder = encoderOf(batch, name.codec);
  await driver.put(key, encoder.chunks(), "replace");
  return batchFile(name, encoder.trailer, Date.now());
}

interface VerifiedFile {
  readonly file: BatchFile;
  readonly trailer: FileTrailer;
}

function sameOrRefuse({ file, trailer }: VerifiedFile, given: FileTrailer): BatchFile {
  const same = (["records", "rawBytes", "contentCrc"] as const).every(
    (field) => trailer[field] === given[field],
  );
  if (same) return file;
  throw new TallymanError(
    "BATCH_CONFLICT",
    `${file.key} exists with other records (${trailer.records}, this batch has ${given.records}). Batch files never change: look for two producers that write the same run.`,
    { details: { key: file.key, existing: trailer, given } },
  );
}

async function verified(driver: StorageDriver, name: BatchFileName): Promise<VerifiedFile> {
  const source = await driver.open(name.key);
  try {
    const { header, trailer } = await verifyFile(name.key, source);
    refuseStranger(name, header);
    return { file: batchFile(name, trailer, source.writtenAtMs), trailer };
  } finally {
    await source.close();
  }
}

function encoderOf(batch: NewBatch, codec: CodecName): FileEncoder {
  const { runId, typeName, tickStart, tickEnd, records } = batch;
  const header = { kind: "batch", codec: codecNamed(codec), runId, typeName, tickStart, tickEnd } as const;
  return new FileEncoder(header, records);
}
