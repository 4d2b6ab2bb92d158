const wordsAtFirst = 4096;

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

  /** Adds so many zeros and returns where they begin. */
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
    const larger = new Int32Array(2 * this.#length);
    larger.set(this.#words);
    this.#words = larger;
  }
}
