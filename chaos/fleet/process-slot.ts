import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type ChildSettings, settingsVariable } from "./child-settings.ts";
import type { Slot } from "./plan.ts";

/** What is different about one life of a slot's process. */
export interface LifeOptions {
  readonly clockOffsetMs?: number | undefined;
}

/** How many lives of a slot ended, and how. */
export interface Deaths {
  /** Killed from outside, or told to end. */
  wanted: number;
  /** At a crash point. */
  atCrashPoint: number;
  /** By itself, before it was ready: its database was away. */
  unready: number;
  /** By itself, in the middle of its work. */
  unwanted: number;
}

/** What all lives of a slot are told. */
type SharedSettings = Omit<ChildSettings, "slot" | "life" | "clockOffsetMs">;

/** Where a slot's scripts are, and where its processes complain. */
export interface SlotPlace {
  scriptOf(role: string): URL;
  readonly logFile: string;
}

const restartMs = 150;
const unreadyRestartMs = 500;

/** One place of the fleet. A process that ends, whoever ended it, is followed by the next. */
export class ProcessSlot {
  readonly slot: Slot;
  /** The last words of those that ended by themselves in the middle of their work. */
  readonly lastWords: string[] = [];
  readonly deaths: Deaths = { wanted: 0, atCrashPoint: 0, unready: 0, unwanted: 0 };
  readonly #settings: SharedSettings;
  readonly #place: SlotPlace;
  readonly #answers = new Map<number, () => void>();
  #process: ChildProcess | undefined;
  #running: Promise<void> | undefined;
  #next: LifeOptions = {};
  #life = 0;
  #requests = 0;
  #isReady = false;
  #isWanted = false;
  #isArmed = false;
  #isOver = false;
  #whenReady: (() => void)[] = [];

  constructor(slot: Slot, settings: SharedSettings, place: SlotPlace) {
    this.slot = slot;
    this.#settings = settings;
    this.#place = place;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Its process, while there is one. */
  get processId(): number | undefined {
    return this.#process?.pid;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when its present or next process is ready. */
  untilReady(): Promise<void> {
    if (this.#isReady) return Promise.resolve();
    return new Promise((resolve) => this.#whenReady.push(resolve));
  }

  /** Sends a signal to its process. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Ends its process; the next one is as told. */
  end(signal: "SIGKILL" | "SIGTERM", next: LifeOptions = {}): void {
    this.#isWanted = true;
    this.#next = next;
    this.#process?.kill(signal);
  }

  /** Asks its process to do something; false when it was not done in time. */
  async ask(what: string, random: number, timeoutMs: number): Promise<boolean> {
    const number = ++this.#requests;
    const done = new Promise<boolean>((resolve) => this.#answers.set(number, () => resolve(true)));
    this.#process?.stdin?.write(`${JSON.stringify({ number, what, random })}\n`);
    const isDone = await Promise.race([done, sleep(timeoutMs, false)]);
    this.#answers.delete(number);
    return isDone;
  }

  /** Makes its process end itself with SIGKILL at a crash point: `point:3`, the third time it passes. */
  async arm(crashAt: string, timeoutMs: number): Promise<boolean> {
    this.#isArmed = true;
    return this.ask(`arm ${crashAt}`, 0, timeoutMs);
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#process?.kill("SIGKILL");
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const child = this.#spawn(this.#next);
      this.#next = {};
      this.#isArmed = false;
      const [, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
      const wasReady = this.#isReady;
      this.#isReady = false;
      if (this.#isOver) return;
      this.#count({ wasReady, isKill: signal === "SIGKILL" });
      await sleep(wasReady ? restartMs : unreadyRestartMs);
    }
  }

  #count({ wasReady, isKill }: { wasReady: boolean; isKill: boolean }): void {
    if (this.#isWanted) this.deaths.wanted++;
    else if (this.#isArmed && isKill) this.deaths.atCrashPoint++;
    else if (!wasReady) this.deaths.unready++;
    else {
      this.deaths.unwanted++;
      this.lastWords.push(`${this.slot.name}: ${lastLineOf(this.#place.logFile)}`);
    }
    this.#isWanted = false;
  }

  #spawn({ clockOffsetMs = 0 }: LifeOptions): ChildProcess {
    const { name, role, args } = this.slot;
    const settings: ChildSettings = { ...this.#settings, slot: name, life: ++this.#life, clockOffsetMs };
    const script = fileURLToPath(this.#place.scriptOf(role));
    const logFile = openSync(this.#place.logFile, "a");
    const child = spawn(process.execPath, [script, ...args], {
      env: { ...process.env, [settingsVariable]: JSON.stringify(settings) },
      stdio: ["pipe", "pipe", logFile],
    });
    closeSync(logFile);
    child.stdin?.on("error", () => undefined);
    if (child.stdout) createInterface(child.stdout).on("line", (line) => this.#printed(line));
    this.#process = child;
    return child;
  }

  #printed(line: string): void {
    const [word, number] = line.split(" ");
    if (word === "did") this.#answers.get(Number(number))?.();
    if (word !== "ready") return;
    this.#isReady = true;
    for (const resolve of this.#whenReady.splice(0)) resolve();
  }
}

function lastLineOf(file: string): string {
  return readFileSync(file, "utf8").trimEnd().split("\n").at(-1) ?? "";
}
