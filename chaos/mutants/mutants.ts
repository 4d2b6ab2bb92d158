import type { Part } from "../fleet/plan.ts";
import type { Invariant } from "../judge/violation.ts";

/** A planted bug: a patch beside this file, and how a short run shows it. */
export interface Mutant {
  /** The patch is `<name>.patch`; its first line says what is wrong. */
  readonly name: string;
  readonly parts: readonly Part[];
  /** Faults that bring it to light. */
  readonly faults: readonly string[];
  /** The judge must find at least one of these broken. */
  readonly breaks: readonly Invariant[];
}

/** Every planted bug; each must turn a run red, for its own reason. */
export const mutants: readonly Mutant[] = [
  {
    name: "command-fence-dropped",
    parts: ["commands"],
    faults: ["pause", "requests-late"],
    breaks: ["I2", "I3"],
  },
  {
    name: "ack-before-commit",
    parts: ["commands"],
    faults: ["crash:commands.transaction.before-settle"],
    breaks: ["I2"],
  },
  { name: "counter-not-atomic", parts: ["commands"], faults: ["kill"], breaks: ["I3"] },
  { name: "checksum-skipped", parts: ["pipeline"], faults: ["file-flipped"], breaks: ["I7"] },
  { name: "renewal-by-name", parts: ["scheduler"], faults: ["requests-late"], breaks: ["I4"] },
  { name: "completed-too-early", parts: ["pipeline"], faults: ["kill"], breaks: ["I2"] },
  { name: "callback-before-commit", parts: ["commands"], faults: ["pause"], breaks: ["I3"] },
  { name: "path-check-removed", parts: ["pipeline"], faults: ["announcement-hostile"], breaks: ["I7"] },
  {
    name: "resume-position-not-saved",
    parts: ["pipeline"],
    faults: ["crash:indexer.after-commit"],
    breaks: ["I2"],
  },
  { name: "fire-key-dropped", parts: ["scheduler"], faults: ["requests-late"], breaks: ["I2"] },
  { name: "audit-skipped", parts: ["commands"], faults: ["poison"], breaks: ["I8"] },
  { name: "position-before-rows", parts: ["pipeline"], faults: ["crash:indexer.after-ack"], breaks: ["I2"] },
  { name: "sweep-removed", parts: ["pipeline"], faults: ["announcement-lost", "file-late"], breaks: ["I6"] },
  { name: "term-not-counted", parts: ["scheduler"], faults: ["kill", "pause"], breaks: ["I4"] },
  { name: "claim-fence-dropped", parts: ["pipeline"], faults: ["flush-late"], breaks: ["I2"] },
];
