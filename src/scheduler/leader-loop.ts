import type { Database } from "../database/index.ts";
import { Counter, type ErrorLog } from "../monitoring/index.ts";
import { crashPoint, logger, Service, WakeUp } from "../runtime/index.ts";
import type { CoordinatorOptions } from "./coordinator-options.ts";
import { hint, schedulerChannels } from "./hints.ts";
import type { Leader, LeaderRound } from "./leader.ts";

const log = logger("scheduler.leader");

/** Rounds of the leader, beside the election: a slow round must not delay a renewal. */
export class LeaderLoop extends Service {
  readonly #database: Database;
  readonly #leader: Leader;
  readonly #options: CoordinatorOptions;
  readonly #errors: ErrorLog;
  readonly #wakeUp: WakeUp;
  readonly #assigned = new Counter();
  readonly #revoked = new Counter();
  readonly #takenBack = new Counter();
  #unsubscribe: (() => void) | undefined;

  constructor(context: {
    readonly database: Database;
    readonly leader: Leader;
    readonly options: CoordinatorOptions;
    readonly errors: ErrorLog;
  }) {
    super("scheduler.leader-loop");
    this.#database = context.database;
    this.#leader = context.leader;
    this.#options = context.options;
    this.#errors = context.errors;
    this.#wakeUp = new WakeUp(context.options.clock);
  }

  /** Makes the next round start now. */
  wake(): void {
    this.#wakeUp.notify();
  }

  get counts(): Readonly<Record<string, number>> {
    return {
      segments_assigned: this.#assigned.value,
      segments_revoked: this.#revoked.value,
      segments_taken_back: this.#takenBack.value,
    };
  }

  protected override async onStart(): Promise<void> {
    const { fleet } = schedulerChannels(this.#database);
    this.#unsubscribe = this.#database.listener.subscribe(fleet, () => this.wake());
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    const { scanIntervalMs } = this.#options;
    const dueInMs = await this.#round();
    await this.#wakeUp.wait(Math.min(scanIntervalMs, dueInMs), signal);
  }

  protected override async onStop(): Promise<void> {
    this.#unsubscribe?.();
  }

  async #round(): Promise<number> {
    try {
      const round = await this.#leader.runOnce();
      await this.#report(round);
      return round.dueInMs;
    } catch (error) {
      const details = `Error: ${String(error)}`;
      this.#errors.add({ code: "LEADER_ROUND_FAILED", message: "A round of the leader failed", details });
      log.debug("A round failed; the next one tries again", { error });
      return Number.POSITIVE_INFINITY;
    }
  }

  async #report({ assigned, revoked, takenBack }: LeaderRound): Promise<void> {
    this.#assigned.increment(assigned);
    this.#revoked.increment(revoked);
    this.#takenBack.increment(takenBack);
    if (assigned + revoked + takenBack === 0) return;
    crashPoint("scheduler.assigned");
    log.debug("Segments moved", { assigned, revoked, takenBack });
    await hint(this.#database, "segments");
  }
}
