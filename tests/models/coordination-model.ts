import fc from "fast-check";

/** Ticks are 0 … tickCount - 1 on a sampling interval of 1; small, so that everything collides. */
export const tickCount = 24;
export const instanceCount = 5;

/** A step of one instance, of the producer or of time. */
export type Step =
  | { readonly kind: "announce"; readonly file: number }
  | {
      readonly kind: "claim" | "complete" | "fail" | "renew" | "release" | "crash";
      readonly instance: number;
      readonly file: number;
    }
  | { readonly kind: "expire" }
  | { readonly kind: "retryFailed" }
  | { readonly kind: "reconcile" }
  | { readonly kind: "giveUpOldestGap" };

/** A file of the run; files may overlap, and two may have the same range. */
export interface ModelFile {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Some files, whether or not they are ever announced. */
export const filesArbitrary: fc.Arbitrary<ModelFile[]> = fc
  .array(fc.tuple(fc.nat(tickCount - 1), fc.nat(5)), { minLength: 1, maxLength: 8 })
  .map((ranges) =>
    ranges.map(([start, length], i) => ({
      name: `file-${i}`,
      start,
      end: Math.min(start + length, tickCount - 1),
    })),
  );

const ofInstance = (kind: "claim" | "complete" | "fail" | "renew" | "release" | "crash") =>
  fc.record({ kind: fc.constant(kind), instance: fc.nat(instanceCount - 1), file: fc.nat(7) });

/** Any interleaving of announcements, claims, ends, crashes, expiries and reconciliations. */
export const stepsArbitrary: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("announce" as const), file: fc.nat(7) }) },
    { weight: 6, arbitrary: ofInstance("claim") },
    { weight: 4, arbitrary: ofInstance("complete") },
    { weight: 2, arbitrary: ofInstance("fail") },
    { weight: 1, arbitrary: fc.oneof(ofInstance("renew"), ofInstance("release"), ofInstance("crash")) },
    { weight: 2, arbitrary: fc.constant<Step>({ kind: "expire" }) },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ kind: "retryFailed" }, { kind: "giveUpOldestGap" }) },
    { weight: 3, arbitrary: fc.constant<Step>({ kind: "reconcile" }) },
  ),
  { maxLength: 40 },
);

interface GapRow {
  readonly ticks: readonly number[];
  readonly status: "pending" | "permanent";
}

type Status = "claimed" | "completed" | "failed";
type TickClass = "indexed" | "in_flight" | "failed" | "pending" | "permanent" | "missing";

/**
 * What coordination means, tick by tick and without a database: the oracle that the real one is
 * compared with.
 */
export class CoordinationModel {
  readonly files: readonly ModelFile[];
  readonly known = new Set<string>();
  readonly ledger = new Map<string, { status: Status; version: number; holder: number; expired: boolean }>();
  /** Claim versions that each instance believes it holds. */
  readonly held = Array.from({ length: instanceCount }, () => new Map<string, number>());
  gaps: GapRow[] = [];
  readonly completions = new Map<string, number>();

  constructor(files: readonly ModelFile[]) {
    this.files = files;
  }

  claim(instance: number, file: ModelFile): boolean {
    const entry = this.ledger.get(file.name);
    if (entry && (entry.status !== "claimed" || !entry.expired)) return false;
    const version = (entry?.version ?? 0) + 1;
    this.ledger.set(file.name, { status: "claimed", version, holder: instance, expired: false });
    this.held[instance]?.set(file.name, version);
    return true;
  }

  /** True when the word counts, or repeats what this holder said already. */
  end(instance: number, file: ModelFile, status: "completed" | "failed"): boolean {
    const entry = this.ledger.get(file.name);
    const isHeld = entry?.status === "claimed" && this.held[instance]?.get(file.name) === entry.version;
    this.held[instance]?.delete(file.name);
    if (!entry || !isHeld) return entry?.status === status && entry.holder === instance;
    entry.status = status;
    if (status === "completed") this.completions.set(file.name, (this.completions.get(file.name) ?? 0) + 1);
    return true;
  }

  renew(instance: number): void {
    for (const [name, version] of this.held[instance] ?? []) {
      const entry = this.ledger.get(name);
      if (entry?.status === "claimed" && entry.version === version) entry.expired = false;
      else this.held[instance]?.delete(name);
    }
  }

  release(instance: number, file: ModelFile): void {
    const entry = this.ledger.get(file.name);
    if (entry?.status === "claimed" && this.held[instance]?.get(file.name) === entry.version)
      entry.expired = true;
    this.held[instance]?.delete(file.name);
  }

  crash(instance: number): void {
    this.held[instance]?.clear();
  }

  expire(): void {
    for (const entry of this.ledger.values()) if (entry.status === "claimed") entry.expired = true;
  }

  retryFailed(): void {
    for (const entry of this.ledger.values()) {
      if (entry.status === "failed") Object.assign(entry, { status: "claimed", expired: true });
    }
  }

  /** A row keeps what is still missing of it, in runs; one that was cut into is pending again. */
  reconcile(): void {
    const covered = this.#ticksOf((file) => this.known.has(file.name));
    const last = Math.max(-1, ...covered);
    const missing = Array.from({ length: last + 1 }, (_, tick) => tick).filter((tick) => !covered.has(tick));
    const inRows = new Set(this.gaps.flatMap((row) => row.ticks));
    const kept = this.gaps.flatMap((row) => {
      const rest = row.ticks.filter((tick) => missing.includes(tick));
      const status = rest.length === row.ticks.length ? row.status : "pending";
      return runsOf(rest).map((ticks): GapRow => ({ ticks, status }));
    });
    const opened = runsOf(missing.filter((tick) => !inRows.has(tick)));
    this.gaps = [...kept, ...opened.map((ticks): GapRow => ({ ticks, status: "pending" }))];
    this.gaps.sort((x, y) => (x.ticks[0] ?? 0) - (y.ticks[0] ?? 0));
  }

  giveUpOldestGap(): void {
    const index = this.gaps.findIndex((row) => row.status === "pending");
    this.gaps = this.gaps.map((row, i) => (i === index ? { ...row, status: "permanent" } : row));
  }

  /** The class of every expected tick. */
  classes(): TickClass[] {
    const completed = this.#ticksOf((file) => this.ledger.get(file.name)?.status === "completed");
    const failed = this.#ticksOf((file) => this.ledger.get(file.name)?.status === "failed");
    const known = this.#ticksOf((file) => this.known.has(file.name));
    const last = Math.max(-1, ...known, ...completed);
    return Array.from({ length: last + 1 }, (_, tick) => {
      if (completed.has(tick)) return "indexed";
      if (failed.has(tick)) return "failed";
      if (known.has(tick)) return "in_flight";
      return this.gaps.find((row) => row.ticks.includes(tick))?.status ?? "missing";
    });
  }

  #ticksOf(isWanted: (file: ModelFile) => boolean): Set<number> {
    const ticks = new Set<number>();
    for (const file of this.files.filter(isWanted)) {
      for (let tick = file.start; tick <= file.end; tick++) ticks.add(tick);
    }
    return ticks;
  }
}

/** Consecutive ticks, run by run. */
function runsOf(ticks: readonly number[]): number[][] {
  const runs: number[][] = [];
  for (const tick of ticks) {
    const run = runs.at(-1);
    if (run && run.at(-1) === tick - 1) run.push(tick);
    else runs.push([tick]);
  }
  return runs;
}
