/** What must hold, by the numbers that reports use. */
export const invariants = {
  I1: "accepted = ended, queued or in troubleshooting; every time of a job has its fire",
  I2: "no effect, reply, fire or tick twice",
  I3: "stored counters of batches equal a recount; a batch completes once",
  I4: "one writer per term, terms increase",
  I5: "a segment has one owner per epoch, and all are owned in the end",
  I6: "indexed, failed and missing ticks are all that are expected, and disjoint",
  I7: "no partial file is visible, no damaged or foreign file is indexed",
  I8: "one audit row per operator's action and command",
} as const;

export type Invariant = keyof typeof invariants;

/** One thing that must not be. */
export interface Violation {
  readonly invariant: Invariant;
  /** Something is gone, is there twice, or is wrong in another way. */
  readonly kind: "lost" | "doubled" | "wrong";
  readonly what: string;
}
