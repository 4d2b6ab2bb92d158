/** The same read, asked for by many at once. */
interface Reading {
  readonly running: Promise<unknown>;
  /** What came while it ran waits for this one. */
  next?: Promise<unknown>;
}

/**
 * Does the same read once for all who ask at the same time: a screen that fifty people have open costs one statement.
 * Nobody joins a read that has begun, because it may have missed what they wrote just before: they share the next.
 */
export class SharedReads {
  readonly #readings = new Map<string, Reading>();

  share<T>(key: string, read: () => Promise<T>): Promise<T> {
    const reading = this.#readings.get(key);
    if (!reading) return this.#begin(key, read);
    reading.next ??= reading.running.then(
      () => this.#begin(key, read),
      () => this.#begin(key, read),
    );
    return reading.next as Promise<T>;
  }

  #begin<T>(key: string, read: () => Promise<T>): Promise<T> {
    const running = read();
    const reading: Reading = { running };
    this.#readings.set(key, reading);
    const end = () => {
      if (!reading.next) this.#readings.delete(key);
    };
    running.then(end, end);
    return running;
  }
}
