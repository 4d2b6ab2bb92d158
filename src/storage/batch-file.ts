import { TallymanError } from "../errors/index.ts";
import { type CodecName, codecOfExtension, extensionOf } from "./block-codec.ts";
import { runIdOfKey, validateKey } from "./storage-key.ts";

/** What a batch file's key says. */
export interface BatchFileName {
  /** Where it lies: `<run>/raw/<folders>/batch_<first>_<last>.pb[.codec]`. */
  readonly key: string;
  readonly runId: string;
  /** First tick, included. */
  readonly tickStart: number;
  /** Last tick, included. */
  readonly tickEnd: number;
  readonly codec: CodecName;
}

/** A batch file and what its trailer says. */
export interface BatchFile extends BatchFileName {
  /** Size of the stored file. */
  readonly bytes: number;
  /** CRC-32 of all stored bytes before it. */
  readonly crc: number;
  /** How many records it holds. */
  readonly records: number;
  /** Size of the records, uncompressed and with their length prefixes. */
  readonly rawBytes: number;
  /** When the file became visible, by the storage's clock; milliseconds since 1970. */
  readonly writtenAtMs: number;
}

const rawFolder = "raw";
const digitsWritten = 19;
const namePattern = /^batch_(\d{10,19})_(\d{10,19})\.pb(?:\.(\w+))?$/;

/**
 * Folders by tick: `<run>/raw/<tick / 1e8>/<tick / 1e5 % 1000>/`. A batch lies as deep as its length
 * allows: at most 1e5 ticks long in the innermost folder, at most 1e8 in the one above, longer ones in
 * `raw` itself. So which folders can hold a file that overlaps a range follows from the range alone.
 */
export const folderLevels = [
  { ticks: 100_000_000, digits: 11 },
  { ticks: 100_000, digits: 3 },
] as const;

/** The key of a batch. */
export function batchKey(batch: Omit<BatchFileName, "key">): string {
  const { runId, tickStart, tickEnd, codec } = batch;
  const depth = folderLevels.filter(({ ticks }) => tickEnd - tickStart < ticks).length;
  const folders = folderLevels.slice(0, depth).map((_, level) => `${folderName(tickStart, level)}/`);
  const name = `batch_${padded(tickStart, digitsWritten)}_${padded(tickEnd, digitsWritten)}.pb`;
  return `${runId}/${rawFolder}/${folders.join("")}${name}${extensionOf(codec)}`;
}

/** Name of the folder that holds a tick at a level; 0 is the outermost. */
export function folderName(tick: number, level: number): string {
  const { ticks, digits } = folderLevels[level] ?? folderLevels[0];
  const within = level === 0 ? tick : tick % folderLevels[0].ticks;
  return padded(Math.floor(within / ticks), digits);
}

/** The folder, with '/' at its end, below which a run's batch files lie. */
export function rawFolderOf(runId: string): string {
  return `${runId}/${rawFolder}/`;
}

/**
 * Reads run, ticks and codec off a key. Names with 10 to 19 digits count, so files that other writers
 * named `batch_0000000000_0000000999.pb` are found too.
 *
 * @returns undefined for anything that is not a batch file's key, such as a temporary file's
 */
export function parseBatchKey(key: string): BatchFileName | undefined {
  const slash = key.lastIndexOf("/");
  const match = namePattern.exec(slash < 0 ? key : key.slice(slash + 1));
  if (slash < 0 || !match) return undefined;
  const tickStart = Number(match[1]);
  const tickEnd = Number(match[2]);
  const codec = codecOfExtension(match[3]);
  if (codec === undefined || tickEnd > Number.MAX_SAFE_INTEGER || tickStart > tickEnd) return undefined;
  return { key, runId: runIdOfKey(key), tickStart, tickEnd, codec };
}

/**
 * What {@link parseBatchKey} reads off a key that must be one.
 *
 * @throws TallymanError STORAGE_KEY_INVALID
 */
export function batchNameOf(key: string): BatchFileName {
  const name = parseBatchKey(validateKey(key));
  if (name) return name;
  throw new TallymanError("STORAGE_KEY_INVALID", `'${key}' is not the key of a batch file.`, {
    details: { key },
  });
}

/** Checks a range of ticks, both ends included. */
export function validateRange(tickStart: number, tickEnd: number): void {
  const valid = Number.isSafeInteger(tickStart) && Number.isSafeInteger(tickEnd) && tickStart >= 0;
  if (valid && tickStart <= tickEnd) return;
  throw new TallymanError(
    "BATCH_INVALID",
    `Ticks ${tickStart} to ${tickEnd} are no range: give whole numbers from 0, the first not after the last.`,
    { details: { tickStart, tickEnd } },
  );
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, "0");
}
