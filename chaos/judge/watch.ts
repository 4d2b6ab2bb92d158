import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readEvidence } from "./evidence.ts";
import { fileFaults } from "./invariants/i7-files.ts";
import { type Case, storedFiles } from "./load-facts.ts";
import { rowsOf, withReader } from "./reader.ts";
import type { Violation } from "./violation.ts";

const sampleMs = 500;

/**
 * Watches while faults strike, for what must hold at every moment: the leader's term does not go back and has
 * one holder, a segment's epoch has one owner, and no file is visible that is not whole.
 */
export class Watch {
  readonly #url: () => string;
  readonly #case: Case;
  readonly #stopped = new AbortController();
  readonly #holders = new Map<number, string>();
  readonly #owners = new Map<string, string>();
  readonly #wholeFiles = new Set<string>();
  readonly #violations = new Map<string, Violation>();
  #term = 0;
  #samples = 0;
  readonly #watching: Promise<void>;

  constructor(url: () => string, about: Case) {
    this.#url = url;
    this.#case = about;
    this.#watching = this.#run();
  }

  /** Ends the watch; what it saw. */
  async stop(): Promise<{ readonly samples: number; readonly violations: readonly Violation[] }> {
    this.#stopped.abort();
    await this.#watching;
    return { samples: this.#samples, violations: [...this.#violations.values()] };
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#lookAtFiles();
      // The database is down now and then; there is nothing to be seen then.
      if (this.#case.hasScheduler) await this.#lookAtScheduler().catch(() => undefined);
      this.#samples++;
      await sleep(sampleMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
    }
  }

  #report(violation: Violation): void {
    this.#violations.set(violation.what, violation);
  }

  /** A file is looked at until it was whole once: what the harness does to it later is in the evidence. */
  #lookAtFiles(): void {
    for (const { runId } of this.#case.runs) {
      const files = storedFiles(
        join(this.#case.folder, "storage"),
        runId,
        (key) => !this.#wholeFiles.has(key),
      );
      const suspects = files.filter(({ verdict }) => !verdict.isWhole);
      for (const { key, verdict } of files) if (verdict.isWhole) this.#wholeFiles.add(key);
      // Read after the files: a damage is logged before it is done.
      const evidence = suspects.length > 0 ? readEvidence(this.#case.folder) : undefined;
      if (evidence)
        for (const fault of suspects.flatMap((file) => fileFaults(file, evidence))) this.#report(fault);
    }
  }

  async #lookAtScheduler(): Promise<void> {
    await withReader(this.#url(), async (client) => {
      const [lease] = await rowsOf<{ epoch: number; holder: string }>(
        client,
        "SELECT epoch, holder FROM tallyman.scheduler_leader_lease WHERE holder IS NOT NULL",
      );
      if (lease) this.#seeLease(lease);
      const segments = await rowsOf<{ segment: number; epoch: number; worker: string }>(
        client,
        "SELECT segment_id AS segment, epoch, worker_id AS worker FROM tallyman.scheduler_segment WHERE worker_id IS NOT NULL",
      );
      for (const segment of segments) this.#seeSegment(segment);
    });
  }

  #seeLease({ epoch, holder }: { epoch: number; holder: string }): void {
    if (epoch < this.#term)
      this.#report({ invariant: "I4", kind: "wrong", what: `term ${epoch} was seen after ${this.#term}` });
    this.#term = Math.max(this.#term, epoch);
    const known = this.#holders.get(epoch) ?? holder;
    this.#holders.set(epoch, known);
    if (known !== holder)
      this.#report({ invariant: "I4", kind: "wrong", what: `term ${epoch} was seen with two holders` });
  }

  #seeSegment({ segment, epoch, worker }: { segment: number; epoch: number; worker: string }): void {
    const known = this.#owners.get(`${segment}/${epoch}`) ?? worker;
    this.#owners.set(`${segment}/${epoch}`, known);
    if (known !== worker)
      this.#report({
        invariant: "I5",
        kind: "doubled",
        what: `epoch ${epoch} of segment ${segment} was seen with ${known} and ${worker}`,
      });
  }
}
