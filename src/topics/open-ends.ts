/** A reader or writer that tells when it is closed. */
interface Closable {
  close(): Promise<void>;
  whenClosed(handler: () => void): void;
}

/** The readers and writers that a driver has opened and nobody has closed yet. */
export class OpenEnds {
  readonly #open = new Set<Closable>();

  track<T extends Closable>(opened: T): T {
    this.#open.add(opened);
    opened.whenClosed(() => this.#open.delete(opened));
    return opened;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open].map((opened) => opened.close()));
  }
}
