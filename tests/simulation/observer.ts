import type { Term } from "../../src/scheduler/coordinator-store.ts";
import type { SegmentGrant } from "../../src/scheduler/worker-info.ts";
import type { SchedulerModel } from "../models/scheduler-model.ts";

/** Sees every statement, and complains when one breaks an invariant. Knows nothing of the model's own checks. */
export class Observer {
  readonly #model: SchedulerModel;
  readonly #holders = new Map<number, string>();
  readonly #epochs: number[];
  readonly #fires = new Map<string, string>();
  readonly #lastFired: number[] = [];
  fires = 0;
  /** Times that a segment got an owner. */
  grants = 0;

  constructor(model: SchedulerModel) {
    this.#model = model;
    this.#epochs = model.segments.map(() => 0);
  }

  /** Runs a statement and looks at what it did. */
  look<T>(statement: () => T): T {
    const owners = this.#model.segments.map(({ workerId }) => workerId);
    const leaderEpoch = this.#model.lease.epoch;
    const result = statement();
    const { lease, segments } = this.#model;
    check(lease.epoch >= leaderEpoch, "1: the leader's epoch went back");
    const holder = this.#holders.get(lease.epoch) ?? lease.holder ?? "";
    this.#holders.set(lease.epoch, holder);
    check(lease.epoch === 0 || holder === lease.holder, "1: a term has two holders");
    segments.forEach(({ epoch, workerId }, id) => {
      check(epoch >= (this.#epochs[id] ?? 0), "3: a segment's epoch went back");
      const isMoved = workerId !== owners[id];
      check(!isMoved || epoch > (this.#epochs[id] ?? 0), "3: a segment changed hands under one epoch");
      if (isMoved && workerId !== null) this.grants++;
      this.#epochs[id] = epoch;
    });
    return result;
  }

  /** A leader's statement. */
  write<T>(term: Term, statement: () => T): T {
    const isOver = [...this.#holders.keys()].some((epoch) => epoch > term.epoch);
    return isOver
      ? this.#unchanged(statement, "2: a leader wrote after a later one was elected")
      : this.look(statement);
  }

  /** A statement whose token may be stale: it must change nothing then. */
  token<T>(isValid: boolean, statement: () => T): T {
    return isValid ? this.look(statement) : this.#unchanged(statement, "8: a stale token changed something");
  }

  /** A worker's effect on a segment, which the fence has let through. */
  fired(process: string, { segmentId, epoch }: SegmentGrant): void {
    const key = `${segmentId}/${epoch}`;
    const other = this.#fires.get(key) ?? process;
    this.#fires.set(key, process);
    check(other === process, "4: two processes passed the fence of one segment under one epoch");
    check(
      epoch >= (this.#lastFired[segmentId] ?? 0),
      "4: an earlier owner passed the fence after a later one",
    );
    this.#lastFired[segmentId] = epoch;
    this.fires++;
  }

  #unchanged<T>(statement: () => T, invariant: string): T {
    const before = this.#state();
    const result = this.look(statement);
    check(this.#state() === before, invariant);
    return result;
  }

  #state(): string {
    const { lease, workers, segments } = this.#model;
    return JSON.stringify([lease, [...workers], segments]);
  }
}

/** An invariant was broken. */
export class Violation extends Error {}

export function check(holds: boolean, invariant: string): void {
  if (!holds) throw new Violation(invariant);
}
