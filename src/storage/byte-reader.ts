import { CorruptBatchError } from "./corrupt-batch-error.ts";

/**
 * Takes a stream of chunks apart into pieces of asked-for sizes, and knows where in the file it is. Pieces
 * that span chunks are put together in one buffer, used again and again: a file of any size costs a few
 * allocations, and the collector, which large buffers call up, stays away.
 */
export class ByteReader implements AsyncDisposable {
  readonly #key: string;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Buffer = Buffer.alloc(0);
  #scratch: Buffer = Buffer.alloc(0);
  #offset: number;

  constructor(key: string, chunks: AsyncIterable<Uint8Array>, offset = 0) {
    this.#key = key;
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#offset = offset;
  }

  /** The byte of the file that comes next. */
  get offset(): number {
    return this.#offset;
  }

  /**
   * The next bytes, good until the next call: copy what is to be kept.
   *
   * @throws CorruptBatchError when the file ends before
   */
  async take(bytes: number): Promise<Buffer> {
    if (this.#chunk.length < bytes) await this.#gather(bytes);
    const taken = this.#chunk.subarray(0, bytes);
    this.#chunk = this.#chunk.subarray(bytes);
    this.#offset += bytes;
    return taken;
  }

  /** True when nothing follows. */
  async atEnd(): Promise<boolean> {
    if (this.#chunk.length > 0) return false;
    const next = await this.#chunks.next();
    if (next.done) return true;
    this.#chunk = asBuffer(next.value);
    return this.atEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return?.();
  }

  async #gather(bytes: number): Promise<void> {
    let have = this.#keep(0, this.#chunk);
    while (have < bytes) {
      const next = await this.#chunks.next();
      if (next.done) throw this.#ended(bytes, have);
      have = this.#keep(have, next.value);
    }
    this.#chunk = this.#scratch.subarray(0, have);
  }

  /** Puts bytes into the scratch buffer, which may hold them already; grows it when they don't fit. */
  #keep(at: number, bytes: Uint8Array): number {
    const end = at + bytes.length;
    if (end > this.#scratch.length) {
      const larger = Buffer.allocUnsafe(2 * end);
      this.#scratch.copy(larger, 0, 0, at);
      larger.set(bytes, at);
      this.#scratch = larger;
    } else this.#scratch.set(bytes, at);
    return end;
  }

  #ended(bytes: number, have: number): CorruptBatchError {
    const [key, offset] = [this.#key, this.#offset];
    return new CorruptBatchError({ key, offset, expected: `${bytes} bytes`, found: `the end after ${have}` });
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
