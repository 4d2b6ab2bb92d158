import type { BatchInfo } from "../../contracts/index.ts";
import type { BatchFileName } from "../../storage/index.ts";
import type { TopicMessage } from "../../topics/index.ts";

/** A batch file that an indexer might work on: announced, found, or left behind by a dead instance. */
export interface FileCandidate {
  /** The key's last part: the file's name in ledger and manifest. */
  readonly filename: string;
  readonly storageKey: string;
  readonly tickStart: number;
  readonly tickEnd: number;
  /** Checksum, where it is known. */
  readonly crc?: number;
  /** Size, where it is known. */
  readonly bytes?: number;
  /** The announcement, when it came by topic. */
  readonly message?: TopicMessage<BatchInfo>;
}

/** A batch file on its way through an indexer: claimed, being read, buffered, not yet flushed to its end. */
export interface IndexedFile extends Omit<FileCandidate, "message"> {
  /** The fence of everything that is written about it; 0 without a ledger. */
  readonly claimVersion: number;
  /** Records that are indexed already. */
  readonly resumeAt: number;
  /** The newest delivery of its announcement; acknowledged when the last record is flushed. */
  message: TopicMessage<BatchInfo> | undefined;
}

/** Records of a file, from one position on. */
export interface FileChunk<T> {
  readonly file: IndexedFile;
  /** Position of the first record. */
  readonly from: number;
  readonly records: readonly T[];
  /** Size of the records, encoded. */
  readonly bytes: number;
  /** Whether the file ends here. */
  readonly isLast: boolean;
}

/** The file's name in ledger and manifest. */
export function filenameOf(storageKey: string): string {
  return storageKey.slice(storageKey.lastIndexOf("/") + 1);
}

/** A file that was found in storage. */
export function candidateOf({ key, tickStart, tickEnd }: BatchFileName): FileCandidate {
  return { filename: filenameOf(key), storageKey: key, tickStart, tickEnd };
}
