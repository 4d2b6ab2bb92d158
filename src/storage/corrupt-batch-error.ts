import { TallymanError } from "../errors/index.ts";

/** Where a file stopped being what it should be. */
export interface Damage {
  readonly key: string;
  /** Byte at which the check failed. */
  readonly offset: number;
  /** What should have been there. */
  readonly expected: string;
  /** What was there instead. */
  readonly found: string;
  readonly cause?: unknown;
}

/**
 * A file that is torn, truncated, altered, or not the one that its key promises. It is thrown before
 * any record of the file was handed out.
 *
 * @example
 * ```ts
 * try {
 *   await write(await storage.readBatch(key));
 * } catch (error) {
 *   if (error instanceof CorruptBatchError) deadLetter(error.key, error.offset, error.expected);
 *   else throw error;
 * }
 * ```
 */
export class CorruptBatchError extends TallymanError {
  override readonly name = "CorruptBatchError";
  readonly key: string;
  readonly offset: number;
  readonly expected: string;

  constructor({ key, offset, expected, found, cause }: Damage) {
    super(
      "BATCH_CORRUPT",
      `${key} is damaged at byte ${offset}: expected ${expected}, found ${found}. Restore it, or let its producer write it again.`,
      { details: { key, offset, expected, found }, cause },
    );
    this.key = key;
    this.offset = offset;
    this.expected = expected;
  }
}
