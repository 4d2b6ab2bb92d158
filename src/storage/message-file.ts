import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { TallymanError } from "../errors/index.ts";
import { parseBatchKey } from "./batch-file.ts";
import { decodeRecord, messageDecoder, refuseOtherType } from "./batch-reader.ts";
import { codecNamed, codecOfExtension } from "./block-codec.ts";
import { CorruptBatchError } from "./corrupt-batch-error.ts";
import { recordsOf, verifyFile } from "./decode-file.ts";
import { FileEncoder } from "./encode-file.ts";
import type { StorageDriver, StoredBytes } from "./storage-driver.ts";
import { runIdOfKey, validateKey } from "./storage-key.ts";

/** A message file that was written. */
export interface MessageFile {
  readonly key: string;
  readonly bytes: number;
  /** CRC-32 of all stored bytes before it. */
  readonly crc: number;
  readonly writtenAtMs: number;
}

/** Where a run's SimulationMetadata lies. */
export function metadataKey(runId: string): string {
  return `${runId}/metadata.pb`;
}

/** Writes one message as a file of one record, in place of the one that is there. */
export async function writeMessageFile<S extends DescMessage>(
  driver: StorageDriver,
  key: string,
  schema: S,
  message: MessageShape<S>,
): Promise<MessageFile> {
  const codec = codecNamed(codecOfExtension(key.slice(key.lastIndexOf(".") + 1)) ?? "none");
  const runId = runIdOfKey(key);
  const header = {
    kind: "message",
    codec,
    runId,
    typeName: schema.typeName,
    tickStart: 0,
    tickEnd: 0,
  } as const;
  const encoder = new FileEncoder(header, [toBinary(schema, message)]);
  await driver.put(key, encoder.chunks(), "replace");
  const { fileBytes: bytes, fileCrc: crc } = encoder.trailer;
  return { key, bytes, crc, writtenAtMs: Date.now() };
}

/** Reads the message of a file that {@link writeMessageFile} wrote. */
export async function readMessageFile<S extends DescMessage>(
  key: string,
  source: StoredBytes,
  schema: S,
): Promise<MessageShape<S>> {
  const { header, trailer } = await verifyFile(key, source);
  const expected = `one message of run '${runIdOfKey(key)}'`;
  const found = `${trailer.records} ${header.kind} records of run '${header.runId}'`;
  if (header.kind !== "message" || header.runId !== runIdOfKey(key) || trailer.records !== 1)
    throw new CorruptBatchError({ key, offset: 0, expected, found });
  refuseOtherType(key, header.typeName, schema.typeName);
  for await (const { bytes, position } of recordsOf(key, source))
    return decodeRecord(key, messageDecoder(schema), bytes, position);
  throw new CorruptBatchError({ key, offset: 0, expected, found: "none" });
}

/** A message's key: any valid one that no listing would take for a batch file. */
export function validateMessageKey(key: string): void {
  if (parseBatchKey(validateKey(key)) === undefined) return;
  throw new TallymanError(
    "STORAGE_KEY_INVALID",
    `'${key}' is the key of a batch file: choose another name.`,
    {
      details: { key },
    },
  );
}
