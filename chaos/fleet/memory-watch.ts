import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Role } from "./plan.ts";
import type { ProcessSlot } from "./process-slot.ts";

const sampleMs = 1_000;

/** The most memory that any process of a role had at once, in megabytes; empty where that can't be known. */
export type MemoryPeaks = Readonly<Partial<Record<Role, number>>>;

/** Looks at how much memory the processes take, while they live. */
export class MemoryWatch {
  readonly #slots: readonly ProcessSlot[];
  readonly #peaks: Partial<Record<Role, number>> = {};
  readonly #stopped = new AbortController();
  readonly #watching: Promise<void>;

  constructor(slots: readonly ProcessSlot[]) {
    this.#slots = slots;
    this.#watching = this.#run();
  }

  /** Ends the watch; what it saw. */
  async stop(): Promise<MemoryPeaks> {
    this.#stopped.abort();
    await this.#watching;
    return this.#peaks;
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      for (const { slot, processId } of this.#slots) {
        const peak = processId === undefined ? 0 : await peakMegabytesOf(processId);
        if (peak > 0) this.#peaks[slot.role] = Math.max(this.#peaks[slot.role] ?? 0, peak);
      }
      await sleep(sampleMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }
}

/** The kernel keeps each process's own peak, so that nothing is missed between two looks. Linux only. */
async function peakMegabytesOf(processId: number): Promise<number> {
  const status = await readFile(`/proc/${processId}/status`, "utf8").catch(() => "");
  const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
  return Math.round(kilobytes / 1_024);
}
