import { fsyncSync, openSync, writeSync } from "node:fs";

/**
 * A log of JSON lines of which each is on the disk before `write` returns: what it says has happened. A process
 * that is killed in the middle of a line leaves a torn last one, which readers pass over.
 */
export class JsonlLog {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  write(entry: Readonly<Record<string, unknown>>): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
    fsyncSync(this.#file);
  }
}
