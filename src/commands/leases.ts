import type { Database } from "../database/index.ts";
import { type Clock, logger, withTimeout } from "../runtime/index.ts";
import { type ClaimedRow, renewLeases } from "./sql/claim.ts";

const log = logger("commands.leases");

interface Lease {
  /** Commands under it that are not settled. */
  remaining: number;
  /** An outcome could not be stored: its command comes back when the database sees the lease run out. */
  hasUnstored: boolean;
  /** Monotonic moment from which the database may have given the lease to another. */
  trustedUntilMs: number;
  readonly onLost: Set<() => void>;
}

/**
 * The leases of one worker. The database decides who holds a command; what is kept here only tells handlers
 * early that their work may be in vain. Trust is measured on the monotonic clock, from before the claim or
 * renewal was sent, so it never outlasts the database's own time.
 */
export class Leases {
  readonly #leases = new Map<number, Lease>();
  readonly #database: Database;
  readonly #leaseMs: number;
  readonly #clock: Clock;
  #ended: number[] = [];

  constructor(database: Database, leaseMs: number, clock: Clock) {
    this.#database = database;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
  }

  get size(): number {
    return this.#leases.size;
  }

  /** Leases that cover nothing any more, for the database to forget; each is returned once. */
  takeEnded(): number[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  add(claimed: readonly ClaimedRow[], sentMs: number): void {
    const [first] = claimed;
    if (!first) return;
    const trustedUntilMs = sentMs + this.#leaseMs;
    this.#leases.set(first.leaseToken, {
      remaining: claimed.length,
      hasUnstored: false,
      trustedUntilMs,
      onLost: new Set(),
    });
  }

  isHeld(token: number): boolean {
    return (this.#leases.get(token)?.trustedUntilMs ?? 0) > this.#clock.monotonicMs();
  }

  /** Calls back when the lease is lost; the returned function takes that back. */
  onLost(token: number, listener: () => void): () => void {
    const lease = this.#leases.get(token);
    if (!lease) return () => undefined;
    lease.onLost.add(listener);
    return () => lease.onLost.delete(listener);
  }

  /** One command of the lease is settled, or no longer ours. */
  settled(token: number): void {
    this.#end(token, false);
  }

  /** One command's outcome could not be stored: the lease is renewed for the others, and then left to run out. */
  unstored(token: number): void {
    this.#end(token, true);
  }

  #end(token: number, isUnstored: boolean): void {
    const lease = this.#leases.get(token);
    if (!lease) return;
    lease.hasUnstored ||= isUnstored;
    if (--lease.remaining > 0) return;
    this.#leases.delete(token);
    if (!lease.hasUnstored) this.#ended.push(token);
  }

  /** Prolongs all leases in one statement; those that the database no longer knows, or no longer can, are lost. */
  async renew(): Promise<void> {
    const tokens = [...this.#leases.keys()];
    if (tokens.length === 0) return;
    const sentMs = this.#clock.monotonicMs();
    // On a connection that has fallen silent no answer comes, and the next renewal is due.
    const answer = withTimeout(
      renewLeases(this.#database, tokens, this.#leaseMs),
      this.#leaseMs / 3,
      "The renewal of leases",
      this.#clock,
    );
    const renewed = await answer.catch((error: unknown) => {
      log.debug("Leases were not renewed, trying again", { reason: String(error) });
      return undefined;
    });
    for (const token of tokens) {
      const lease = this.#leases.get(token);
      if (!lease) continue;
      if (renewed?.has(token)) lease.trustedUntilMs = sentMs + this.#leaseMs;
      else if (renewed || lease.trustedUntilMs <= this.#clock.monotonicMs()) this.#lose(token, lease);
    }
  }

  /** Renews nothing any more: what is not settled comes back when the database sees its lease run out. */
  forgetAll(): void {
    this.#leases.clear();
  }

  #lose(token: number, lease: Lease): void {
    this.#leases.delete(token);
    for (const listener of lease.onLost) listener();
  }
}
