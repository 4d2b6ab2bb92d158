import { type Clock, logger } from "../runtime/index.ts";
import type { ClaimedRow } from "./sql/claim.ts";
import type { Settlement } from "./sql/settle.ts";

const log = logger("commands.worker");

/** Failures of one kind are told this often at most. */
const repeatMs = 10_000;
/** Kinds that are remembered. */
const kindsMax = 1_000;
const messageLettersMax = 500;

interface Told {
  readonly atMs: number;
  /** How many came since and were not told. */
  untold: number;
}

/** Tells which handlers fail and what becomes of their commands, without a line for each of ten thousand alike. */
export class FailureLog {
  readonly #clock: Clock;
  readonly #told = new Map<string, Told>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  failed({ commandType, commandId }: ClaimedRow, settlement: Settlement): void {
    const { message = "", signature = "" } = settlement.error ?? {};
    const kind = `${commandType} ${settlement.outcome} ${signature}`;
    const atMs = this.#clock.monotonicMs();
    const last = this.#told.get(kind);
    if (last && atMs - last.atMs < repeatMs) {
      last.untold++;
      return;
    }
    if (this.#told.size >= kindsMax) this.#told.clear();
    this.#told.set(kind, { atMs, untold: 0 });
    const more = last && last.untold > 0 ? { more: last.untold } : {};
    const text = `${commandType} failed: ${message.slice(0, messageLettersMax)}`;
    log.info(text, { commandId, next: nextStep(settlement), ...more });
  }
}

function nextStep({ outcome, delayMs = 0 }: Settlement): string {
  return outcome === "RETRY" ? `tried again in ${delayMs / 1_000} s` : outcome;
}
