import { copyFile, mkdir, open, readFile, rename, rm, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BatchFile, BatchStorage } from "../../src/index.ts";
import { isQuiet, openLog, settings } from "./child-kit.ts";
import type { FaultyTopic } from "./faulty-topic.ts";
import { nextFileMs, overload } from "./plan.ts";

/** How long a write takes while faults strike: what keeps the run from being over at once. */
const slowWriteMs = 900;

/** The share of damaged files that stay so. */
const unrepaired = 0.7;

type WriteBatch = BatchStorage["writeBatch"];

/** Waits for the next file to be written, and breaks it before anybody hears of it. */
interface Breakage {
  readonly how: string;
  readonly random: number;
  readonly done: () => void;
  /** On the monotonic clock: nobody waits for it any longer. */
  readonly untilMs: number;
}

/**
 * The product's storage on a slow disk that damages files after they were written whole. Every file is in the
 * log before it can be announced; every damage is there before it is done, and again after it.
 */
export class FaultyStorage {
  readonly #storage: BatchStorage;
  readonly #topic: FaultyTopic;
  readonly #log = openLog();
  readonly #pending: Breakage[] = [];
  #writeMs = slowWriteMs;

  constructor(storage: BatchStorage, topic: FaultyTopic) {
    this.#storage = storage;
    this.#topic = topic;
  }

  readonly writeBatch = (async (...args: Parameters<WriteBatch>) => {
    if (!isQuiet()) await sleep(this.#writeMs);
    const file: BatchFile = await this.#storage.writeBatch(...args);
    const { key, tickStart, tickEnd, bytes, crc } = file;
    this.#log.write({ file: key, tickStart, tickEnd, bytes, crc });
    const breakage = this.#nextBreakage();
    if (breakage) await this.#break(key, breakage);
    return file;
  }) as WriteBatch;

  /** Lets the producer make many times as many files, for a while. */
  async hurry(): Promise<void> {
    this.#writeMs = slowWriteMs / overload.factor;
    await sleep(overload.lastsMs);
    this.#writeMs = slowWriteMs;
  }

  /** Breaks the next file that is written; resolves when it is done. */
  breakNext(how: string, random: number): Promise<void> {
    const untilMs = performance.now() + nextFileMs;
    return new Promise((done) => this.#pending.push({ how, random, done, untilMs }));
  }

  #nextBreakage(): Breakage | undefined {
    const nowMs = performance.now();
    while (this.#pending[0] && this.#pending[0].untilMs < nowMs) this.#pending.shift();
    return this.#pending.shift();
  }

  async #break(key: string, { how, random, done }: Breakage): Promise<void> {
    const path = join(settings.folder, "storage", key);
    const log = () => this.#log.write({ broken: key, how, at: Date.now() });
    log();
    if (damages.has(how) && random > unrepaired) await copyFile(path, await keptIn("originals", key));
    const breaking = breakers[how]?.({ key, path, random, topic: this.#topic });
    // A full disk may be in the way; the file is none the worse then.
    const isBroken = await breaking?.then(
      () => true,
      () => false,
    );
    log();
    if (isBroken) done();
  }
}

interface Victim {
  readonly key: string;
  readonly path: string;
  readonly random: number;
  readonly topic: FaultyTopic;
}

/** Where a copy of a file is kept from which the harness can repair or restore it. */
async function keptIn(folder: "originals" | "hidden", key: string): Promise<string> {
  const path = join(settings.folder, folder, key);
  await mkdir(dirname(path), { recursive: true });
  return path;
}

/** Damages that the harness may repair later. */
const damages = new Set(["file-flipped", "file-truncated", "file-torn"]);

/** What can happen to a file. */
const breakers: Readonly<Record<string, (victim: Victim) => Promise<void>>> = {
  /** One bit is another; of the eight, one whose loss a decoder alone seldom notices. */
  "file-flipped": async ({ path, random }) => {
    const bytes = await readFile(path);
    const at = Math.floor(random * bytes.length);
    await overwrite(path, Buffer.of((bytes[at] ?? 0) ^ 0x10), at);
  },
  /** Its end is missing. */
  "file-truncated": async ({ path, random }) => {
    await truncate(path, Math.floor(random * (await readFile(path)).length));
  },
  /** Its end is there, as zeros: the size was on the disk before the data. */
  "file-torn": async ({ path, random }) => {
    const { length } = await readFile(path);
    const from = Math.floor(random * (length - 1));
    await overwrite(path, Buffer.alloc(length - from), from);
  },
  /** It is announced, and not there. */
  "file-missing": async ({ path }) => rm(path),
  /** It is neither announced nor there, until the harness brings it back. */
  "file-late": async ({ key, path, topic }) => {
    topic.silenced.add(key);
    await copyFile(path, await keptIn("hidden", key));
    await rm(path);
  },
  /** It is there twice, at both places where its run's files may lie, and both are announced. */
  "file-duplicated": async ({ key, path, topic }) => {
    const copy = key.replace(/\/raw\/.*\//, "/");
    const target = join(settings.folder, "storage", copy);
    await copyFile(path, `${target}.copying`);
    await rename(`${target}.copying`, target);
    topic.copies.set(key, copy);
  },
  /** It is there, and nobody says so. */
  "announcement-lost": async ({ key, topic }) => void topic.silenced.add(key),
  /** It is announced after others that were written later. */
  "announcement-reordered": async ({ key, topic }) => void topic.held.add(key),
};

async function overwrite(path: string, bytes: Buffer, position: number): Promise<void> {
  await using file = await open(path, "r+");
  await file.write(bytes, 0, bytes.length, position);
  await file.sync();
}
