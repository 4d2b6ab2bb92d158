const wordsAtFirst = 4096;
/** 256 MB: nine million cells, five million organisms. A part takes two bytes in a file and up to 52 here. */
const wordsMax = 64 * 1024 * 1024;

/** A growing list of 32-bit words, used again and again: it grows to the largest that it had to hold. */
export class WordList {
  #words = new Int32Array(wordsAtFirst);
  #length = 0;

  /** The words; good until the next {@link append}. */
  get words(): Int32Array {
    return this.#words;
  }

  clear(): void {
    this.#words.fill(0, 0, this.#length);
    this.#length = 0;
  }

  /** Adds so many zeros and returns where they begin. @throws RangeError when it would hold more than any tick has */
  append(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#words.length) this.#grow();
    return at;
  }

  /** A copy of what it holds. */
  toArray(): Int32Array {
    return this.#words.slice(0, this.#length);
  }

  #grow(): void {
    if (this.#length > wordsMax) throw new RangeError(`more than ${wordsMax * 4} bytes, decoded`);
    const larger = new Int32Array(Math.min(2 * this.#length, wordsMax));
    larger.set(this.#words);
    this.#words = larger;
  }
}
