import { type Clock, logger, withTimeout } from "../runtime/index.ts";
import type { CoordinatorStore, Term } from "./coordinator-store.ts";
import type { LeaseAttempt } from "./sql/lease.ts";

const log = logger("scheduler.election");

/** A follower whose lease look fell on the moment of expiry bids a little later, each at another moment. */
const bidJitterMs = 100;

/** Who campaigns, and by which times. */
export interface ElectionOptions extends LeaseAttempt {
  /** Time between two renewals. */
  readonly renewMs: number;
  /** A follower looks at the lease at least this often. */
  readonly pollMs: number;
  readonly clock: Clock;
  /** Default Math.random. */
  readonly random?: () => number;
}

interface Trust {
  readonly term: Term;
  /** On our monotonic clock; before the database's lease can run out. */
  readonly untilMs: number;
}

/**
 * One candidate. Leadership is a lease in the database with a term; {@link term} is what this process may rely
 * on by itself. Trust begins when an attempt is *sent*, not when its answer arrives, and ends a fifth of the
 * lease early, so it is over before the lease is, even on a clock that runs 20 % slow. It is only a courtesy:
 * each write of a leader is checked by the database.
 */
export class Election {
  readonly #store: CoordinatorStore;
  readonly #options: ElectionOptions;
  readonly #random: () => number;
  #trust: Trust | undefined;
  /** The last term that we gave back. */
  #resignedEpoch = 0;

  constructor(store: CoordinatorStore, options: ElectionOptions) {
    this.#store = store;
    this.#options = options;
    this.#random = options.random ?? Math.random;
  }

  /** Our term, while it can be trusted without asking. */
  get term(): Term | undefined {
    const { clock } = this.#options;
    return this.#trust && clock.monotonicMs() < this.#trust.untilMs ? this.#trust.term : undefined;
  }

  /**
   * One move: renews our term, or bids for the lease.
   *
   * @returns time until the next move should be made
   * @throws when the database does not answer; the term then ends by itself
   */
  async step(): Promise<number> {
    const { term } = this;
    if (this.#trust && !term) this.stepDown(this.#trust.term, "its lease could not be renewed in time");
    return term ? this.#renew(term) : this.#bid();
  }

  /** Stops leading at once, as far as this process is concerned; a later term of ours is none of this. */
  stepDown({ epoch }: Term, reason: string): void {
    if (this.#trust?.term.epoch !== epoch) return;
    log.info(`${this.#options.coordinatorId} no longer leads: ${reason}.`, { epoch });
    this.#trust = undefined;
  }

  /** Gives the lease back; true when it was ours. */
  async resign(): Promise<boolean> {
    const term = this.#trust?.term;
    if (!term) return false;
    this.#resignedEpoch = term.epoch;
    this.stepDown(term, "it resigned");
    return this.#answer(this.#store.resign(term));
  }

  async #renew(term: Term): Promise<number> {
    const { leaseMs, renewMs, clock } = this.#options;
    const sentMs = clock.monotonicMs();
    if (await this.#answer(this.#store.renew(term, leaseMs))) this.#trustFrom(sentMs, leaseMs, term);
    else this.stepDown(term, "the database has another leader, or the lease ran out");
    return this.#trust ? renewMs : 0;
  }

  async #bid(): Promise<number> {
    const { holder, pollMs, renewMs, clock } = this.#options;
    const sentMs = clock.monotonicMs();
    const { isMine, epoch, remainingMs } = await this.#answer(this.#store.acquire(this.#options));
    if (isMine) this.#trustFrom(sentMs, remainingMs, { holder, epoch });
    if (!this.#trust) return Math.min(pollMs, remainingMs) + this.#random() * bidJitterMs;
    if (this.term) log.info(`${this.#options.coordinatorId} leads.`, { epoch });
    return renewMs;
  }

  /** A bid or renewal that crosses our resignation brings nothing back. */
  #trustFrom(sentMs: number, leaseMs: number, term: Term): void {
    if (term.epoch <= this.#resignedEpoch) return;
    this.#trust = { term, untilMs: sentMs + leaseMs - this.#options.leaseMs / 5 };
  }

  /** An answer that takes longer than a lease is of no use; a bid that it won is found by the next one. */
  #answer<T>(question: Promise<T>): Promise<T> {
    const { leaseMs, clock } = this.#options;
    return withTimeout(question, leaseMs, "A statement of the election", clock);
  }
}
