import { TallymanError } from "../../../errors/index.ts";

/** Large enough that a chunk's way through the streams costs nothing per row, small enough to be held a few times. */
const chunkBytes = 64 * 1024;
const signature = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");
const int4Max = 2 ** 31 - 1;
const endMark = -1;
const nullMark = -1;

/**
 * Rows in the binary form of COPY, put into chunks. Every chunk is memory of its own: the socket may
 * still read from the last one while the next is filled.
 */
export class BinaryCopy {
  readonly #rowBytesMax: number;
  #view: DataView = new DataView(new ArrayBuffer(chunkBytes));
  #at: number;

  /** @param rowBytesMax - what the longest row takes, with its field counts and lengths */
  constructor(rowBytesMax: number) {
    this.#rowBytesMax = rowBytesMax;
    this.#at = signature.copy(Buffer.from(this.#view.buffer));
  }

  /** Whether the next row might not fit: {@link take} the chunk first. */
  get isFull(): boolean {
    return this.#at > chunkBytes - this.#rowBytesMax;
  }

  /** The chunk so far; a new one begins. */
  take(): Buffer {
    const chunk = Buffer.from(this.#view.buffer, 0, this.#at);
    this.#view = new DataView(new ArrayBuffer(chunkBytes));
    this.#at = 0;
    return chunk;
  }

  /** The last chunk. */
  end(): Buffer {
    this.#view.setInt16(this.#at, endMark);
    this.#at += 2;
    return this.take();
  }

  /** Begins a row of so many fields. */
  row(fields: number): void {
    this.#view.setInt16(this.#at, fields);
    this.#at += 2;
  }

  int4(value: number): void {
    this.#view.setInt32(this.#at, 4);
    this.#view.setInt32(this.#at + 4, value);
    this.#at += 8;
  }

  /** A word that the contract takes without its sign; `name` is for the error. */
  uint4(word: number, name: string): void {
    if (word < 0) throw beyondInt4(name, word >>> 0);
    this.int4(word);
  }

  /** A number of 64 bits from its halves. */
  int8(low: number, high: number): void {
    this.#view.setInt32(this.#at, 8);
    this.#view.setInt32(this.#at + 4, high);
    this.#view.setInt32(this.#at + 8, low);
    this.#at += 12;
  }

  null(): void {
    this.#view.setInt32(this.#at, nullMark);
    this.#at += 4;
  }
}

function beyondInt4(name: string, value: number): TallymanError {
  return new TallymanError(
    "BATCH_INVALID",
    `${name} ${value} is beyond ${int4Max}, the most that is stored.`,
    {
      details: { field: name, value },
    },
  );
}
