import type { Database, Transaction } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { crashPoint, type Deferred, deferred } from "../runtime/index.ts";
import type { CommandContext } from "./command-handler.ts";
import { markOutage } from "./failure.ts";
import type { Leases } from "./leases.ts";
import { type ClaimedRow, lockClaimed } from "./sql/claim.ts";
import { type Settled, settleCommands } from "./sql/settle.ts";
import { settlementOfSuccess } from "./success.ts";

/** Node's timers hold 31 bits, some 24 days; a longer delay would fire at once. */
const timerMsMax = 2 ** 31 - 1;

/** What an attempt needs of its worker. */
export interface AttemptHost {
  readonly database: Database;
  readonly leases: Leases;
  readonly handlerTimeoutMs: number;
  /** Runs `work` when few enough transactions of handlers are open, so that some connections stay free. */
  limitTransactions<T>(work: () => Promise<T>): Promise<T>;
}

/** One run of a handler: its context, its time limit, and whether it completed its command by itself. */
export class Attempt implements CommandContext {
  readonly #host: AttemptHost;
  readonly #claimed: ClaimedRow;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | undefined;
  #timeout: Deferred<never> | undefined;
  /** What the handler asked for, perhaps before it first waited. */
  #extendedMs: number | undefined;
  #hasTransaction = false;
  /** Resolves when the command's own transaction holds no locks any more. */
  #released: Promise<unknown> | undefined;
  /** Rejects when the attempt's time is over, or its worker stops; made when there is a transaction to end. */
  #over: Deferred<never> | undefined;
  /** What the command's own transaction did, once it has committed. */
  settled: Settled | undefined;

  constructor(host: AttemptHost, claimed: ClaimedRow) {
    this.#host = host;
    this.#claimed = claimed;
  }

  // Most handlers never look at the signal, and a controller for each would be the dearest part of a fast one.
  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = new AbortController();
      this.#controller = controller;
      const { leases } = this.#host;
      const { leaseToken } = this.#claimed;
      this.#unsubscribe = leases.onLost(leaseToken, () => controller.abort(this.#leaseLost()));
      if (!leases.isHeld(leaseToken)) controller.abort(this.#leaseLost());
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    void this.signal;
    this.#controller?.abort(reason);
    this.#overLater().reject(reason);
  }

  /**
   * A running handler's outcome, or TIMED_OUT; then its signal is aborted, and whatever it still does is in vain.
   * Not before its transaction has let go of the command: a statement that runs keeps its locks even when the
   * rollback is sent, and an outcome that waits for them would keep those of all other commands waiting.
   */
  async race<T>(running: PromiseLike<T>): Promise<T> {
    const timeout = deferred<never>();
    this.#timeout = timeout;
    this.#startTimer(this.#extendedMs ?? this.#host.handlerTimeoutMs);
    try {
      return await Promise.race([running, timeout.promise]);
    } finally {
      await this.#released;
      clearTimeout(this.#timer);
      this.#timeout = undefined;
    }
  }

  end(): void {
    this.#unsubscribe?.();
  }

  async extend(ms = this.#host.handlerTimeoutMs): Promise<void> {
    if (!(ms >= 0)) {
      throw new TallymanError("INVALID_OPTION", `extend() takes a number of milliseconds, not ${ms}.`, {
        details: { option: "ms" },
      });
    }
    if (!this.#host.leases.isHeld(this.#claimed.leaseToken)) throw this.#leaseLost();
    this.#extendedMs = ms;
    if (this.#timeout) this.#startTimer(ms);
  }

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (this.#hasTransaction) {
      throw new TallymanError(
        "INVALID_STATE",
        "context.transaction() completes the command: call it once per attempt.",
      );
    }
    this.#hasTransaction = true;
    try {
      return await this.#host.limitTransactions(() => {
        const working = this.#workAndCommit(work);
        this.#released = working.catch(() => undefined);
        return working;
      });
    } catch (error) {
      markOutage(error);
      throw error;
    }
  }

  async #workAndCommit<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { result, settled } = await this.#host.database.transaction((tx) =>
      this.#untilOver(this.#workAndComplete(tx, work)),
    );
    // Not before the commit: until then, and when nobody knows whether it counts, the command is not settled.
    this.settled = settled;
    return result;
  }

  /**
   * Rolls back a transaction that is open when the attempt is over: its lock on the command would keep the
   * outcome out, and with it all those behind. Not when the lease is lost: only the database knows whether it is.
   */
  #untilOver<T>(working: Promise<T>): Promise<T> {
    return Promise.race([working, this.#overLater().promise]);
  }

  #overLater(): Deferred<never> {
    if (!this.#over) {
      this.#over = deferred();
      this.#over.promise.catch(() => undefined);
    }
    return this.#over;
  }

  /** The lock comes first, so that nobody can take the command meanwhile; the counters last, for everybody wants them. */
  async #workAndComplete<T>(
    tx: Transaction,
    work: (tx: Transaction) => Promise<T>,
  ): Promise<{ result: T; settled: Settled }> {
    if (!(await lockClaimed(tx, this.#claimed))) throw this.#leaseLost();
    const result = await work(tx);
    crashPoint("commands.transaction.before-settle");
    const settlement = settlementOfSuccess(this.#claimed, result);
    const settled = await settleCommands(tx, [settlement], { from: "IN_PROGRESS" });
    crashPoint("commands.transaction.before-commit");
    return { result, settled };
  }

  #startTimer(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        const error = new TallymanError("TIMED_OUT", `The handler did not finish within ${ms} ms.`, {
          details: { commandId: this.#claimed.commandId, ms },
        });
        // First the verdict, then the signal: a handler that returns on its abort has not finished in time.
        this.#timeout?.reject(error);
        this.abort(error);
      },
      Math.min(ms, timerMsMax),
    );
  }

  #leaseLost(): TallymanError {
    const { commandId } = this.#claimed;
    return new TallymanError("LEASE_LOST", `Command ${commandId} is no longer held by this worker.`, {
      details: { commandId },
    });
  }
}
