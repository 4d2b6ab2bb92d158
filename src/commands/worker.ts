import { isTallymanError, TallymanError } from "../errors/index.ts";
import type { Monitorable, OperationalError } from "../monitoring/index.ts";
import type { GivenOptions } from "../runtime/index.ts";
import {
  backoffMs,
  crashPoint,
  isAbort,
  logger,
  resolveOptions,
  Service,
  sleep,
  WakeUp,
} from "../runtime/index.ts";
import { Attempt, type AttemptHost } from "./attempt.ts";
import { BackgroundLoop } from "./background-loop.ts";
import type { CommandBus } from "./command-bus.ts";
import type { CommandHandler } from "./command-handler.ts";
import type { CommandType } from "./command-schemas.ts";
import { settlementOfFailure, textOf } from "./failure.ts";
import { FailureLog } from "./failure-log.ts";
import { handlerTransactions } from "./handler-transactions.ts";
import { Handlers } from "./handlers.ts";
import { Leases } from "./leases.ts";
import { maintainUntilStopped } from "./maintenance-loop.ts";
import { OutcomeBuffer } from "./outcome-buffer.ts";
import { prefetchLimit } from "./prefetch.ts";
import { type ClaimedRow, claimCommands, endLeases } from "./sql/claim.ts";
import type { Outcome, Settlement } from "./sql/settle.ts";
import { settlementOfSuccess } from "./success.ts";
import { WorkerMetrics } from "./worker-metrics.ts";
import { type WorkerOptions, workerDefaults, workerRules } from "./worker-options.ts";

const log = logger("commands.worker");

/** Groups of outcomes that wait for their commit while further handlers are started. */
const unsettledGroupsMax = 4;
const claimRetry = { initialMs: 100, maxMs: 5_000, factor: 2, jitter: 0.5 };

/**
 * Takes a domain's commands and runs their handlers.
 *
 * Claims are bulk, under one short lease per claim that is renewed by one statement; outcomes are committed in
 * groups. Every write carries the lease's token, so a worker that was taken for dead and comes back changes
 * nothing. stop() lets running handlers finish and gives the rest back at once; after a SIGKILL the commands
 * come back when the lease is over. Any number of workers, in any number of processes.
 *
 * @example
 * ```ts
 * await using worker = bus.worker({ domain: "orders", concurrency: 20 });
 * worker.handle("ShipOrder", async ({ data }, context) =>
 *   context.transaction((tx) => tx.query("INSERT INTO shipment VALUES ($1)", [data.orderId])),
 * );
 * await worker.start();
 * ```
 */
export class Worker extends Service implements Monitorable {
  readonly domain: string;
  readonly #bus: CommandBus;
  readonly #options: Readonly<WorkerOptions>;
  readonly #handlers: Handlers;
  readonly #leases: Leases;
  readonly #host: AttemptHost;
  readonly #metrics = new WorkerMetrics();
  readonly #failures: FailureLog;
  readonly #hint: WakeUp;
  readonly #room: WakeUp;
  readonly #queue: ClaimedRow[] = [];
  readonly #running = new Map<Attempt, Promise<void>>();
  #outcomes: OutcomeBuffer;
  #unsubscribe: (() => void) | undefined;
  #renewal: BackgroundLoop | undefined;
  #maintenance: BackgroundLoop | undefined;
  #claimFailures = 0;
  #isStopping = false;

  /** @throws TallymanError INVALID_OPTION */
  constructor(bus: CommandBus, given: GivenOptions<WorkerOptions>) {
    const options = resolveOptions<WorkerOptions>(workerDefaults(), given, workerRules);
    super("commands.worker");
    this.#bus = bus;
    this.#options = options;
    this.domain = options.domain;
    this.#handlers = new Handlers(options.domain, bus.schemas);
    const { database } = bus;
    this.#leases = new Leases(database, options.leaseMs, options.clock);
    this.#failures = new FailureLog(options.clock);
    this.#hint = new WakeUp(options.clock);
    this.#room = new WakeUp(options.clock);
    const transactions = handlerTransactions(database);
    this.#host = {
      database,
      leases: this.#leases,
      handlerTimeoutMs: options.handlerTimeoutMs,
      limitTransactions: (work) => transactions.run(work),
    };
    this.#outcomes = this.#newOutcomes();
    for (const [type, handler] of Object.entries(options.handlers)) this.handle(type, handler);
  }

  /**
   * Adds the handler of a command type, by name or with its schema. Safe while the worker runs.
   *
   * @throws TallymanError INVALID_STATE when the type has a handler, or belongs to another domain
   */
  handle<Output>(type: CommandType<never, Output>, handler: CommandHandler<Output>): this;
  handle<Input, Output>(type: CommandType<Input, Output>, handler: CommandHandler<Output>): this;
  // biome-ignore lint/suspicious/noExplicitAny: without a schema the handler says what it expects
  handle(type: string, handler: CommandHandler<any>): this;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  handle(type: string | CommandType<any, any>, handler: CommandHandler<any>): this {
    this.#handlers.add(type, handler);
    return this;
  }

  getMetrics(): Readonly<Record<string, number>> {
    const held = {
      commands_held: this.#queue.length + this.#running.size,
      commands_unsettled: this.#outcomes.pending,
    };
    return { ...this.#metrics.snapshot(), ...held };
  }

  isHealthy(): boolean {
    return this.state === "RUNNING" && this.#claimFailures === 0;
  }

  getErrors(): readonly OperationalError[] {
    return this.#metrics.errors.list();
  }

  clearErrors(): void {
    this.#metrics.errors.clear();
  }

  protected override async onStart(): Promise<void> {
    this.#isStopping = false;
    this.#outcomes = this.#newOutcomes();
    const { listener } = this.#host.database;
    this.#unsubscribe = listener.subscribe(this.#bus.hints.commandChannel, (domain) => {
      if (domain === "" || domain === this.domain) this.#hint.notify();
    });
    const { clock, leaseMs } = this.#options;
    this.#renewal = new BackgroundLoop(clock, leaseMs / 3, () => this.#leases.renew());
    this.#maintenance = maintainUntilStopped(this.#bus.maintenance, this.#options, this.#metrics.errors);
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    try {
      const room = this.#roomForClaim();
      if (room === 0) await this.#room.wait(this.#options.pollIntervalMs, signal);
      // Fewer than there was room for may mean that others had the rest locked: only nothing is the end.
      else if ((await this.#claim(room)) === 0) await this.#hint.wait(this.#options.pollIntervalMs, signal);
      this.#claimFailures = 0;
    } catch (error) {
      if (signal.aborted && isAbort(error)) throw error;
      await this.#surviveClaimFailure(error, signal);
    }
  }

  protected override async onStop(): Promise<void> {
    this.#isStopping = true;
    this.#unsubscribe?.();
    const maintained = this.#maintenance?.stop();
    this.#giveBack();
    await this.#drain();
    await this.#outcomes.stop();
    await this.#renewal?.stop();
    await maintained;
    this.#leases.forgetAll();
    const ended = this.#leases.takeEnded();
    if (ended.length > 0) await endLeases(this.#host.database, ended).catch(() => undefined);
  }

  /** How many commands to ask for now; 0 while what is held is enough. */
  #roomForClaim(): number {
    const { concurrency, groupMax } = this.#options;
    const limit = this.#prefetchLimit();
    const held = this.#queue.length + this.#running.size;
    if (held > limit / 2 && held >= Math.min(concurrency, limit)) return 0;
    if (this.#outcomes.pending > groupMax * unsettledGroupsMax) return 0;
    return Math.max(0, limit - held);
  }

  #prefetchLimit(): number {
    return prefetchLimit(this.#options, this.#metrics.handlerMs);
  }

  async #claim(limit: number): Promise<number> {
    const { domain, leaseMs, name: worker, clock } = this.#options;
    const sentMs = clock.monotonicMs();
    const endedLeases = this.#leases.takeEnded();
    const claimed = await claimCommands(this.#host.database, { domain, limit, leaseMs, worker, endedLeases });
    crashPoint("commands.worker.after-claim");
    this.#leases.add(claimed, sentMs);
    this.#metrics.received.increment(claimed.length);
    claimed.sort((a, b) => b.priority - a.priority || a.id - b.id);
    this.#queue.push(...claimed);
    if (this.#isStopping) this.#giveBack();
    else this.#pump();
    return claimed.length;
  }

  /** Starts handlers while there are commands, free slots and room for their outcomes. */
  #pump(): void {
    const { concurrency, groupMax } = this.#options;
    const unsettledMax = groupMax * unsettledGroupsMax;
    while (this.#running.size < concurrency && this.#outcomes.pending < unsettledMax && !this.#isStopping) {
      const claimed = this.#queue.shift();
      if (!claimed) break;
      if (this.#leases.isHeld(claimed.leaseToken)) this.#begin(claimed);
      else this.#lost(claimed);
    }
    if (this.#queue.length + this.#running.size <= this.#prefetchLimit() / 2) this.#room.notify();
  }

  /** A handler that does not wait ends within this call, and costs neither a promise nor a timer. */
  #begin(claimed: ClaimedRow): void {
    const attempt = new Attempt(this.#host, claimed);
    const startedMs = performance.now();
    let outcome: unknown;
    try {
      outcome = this.#handlers.run(claimed, attempt);
      if (isPromise(outcome)) {
        this.#running.set(attempt, this.#finish(claimed, attempt, startedMs, outcome));
        return;
      }
      this.#end(attempt, startedMs, claimed, settlementOfSuccess(claimed, outcome));
    } catch (error) {
      this.#end(attempt, startedMs, claimed, this.#failed(claimed, attempt, error));
    }
  }

  /** Never throws: every failure is an outcome. */
  async #finish(
    claimed: ClaimedRow,
    attempt: Attempt,
    startedMs: number,
    running: PromiseLike<unknown>,
  ): Promise<void> {
    const settlement = await attempt
      .race(running)
      .then((result) => (attempt.settled ? undefined : settlementOfSuccess(claimed, result)))
      .catch((error) => this.#failed(claimed, attempt, error));
    this.#running.delete(attempt);
    this.#end(attempt, startedMs, claimed, settlement);
    this.#pump();
  }

  #end(attempt: Attempt, startedMs: number, claimed: ClaimedRow, settlement: Settlement | undefined): void {
    this.#metrics.ran(performance.now() - startedMs);
    attempt.end();
    this.#settle(claimed, attempt, settlement);
  }

  /** The outcome of a handler that threw; undefined when the command settled itself, or is lost. */
  #failed(claimed: ClaimedRow, attempt: Attempt, error: unknown): Settlement | undefined {
    if (attempt.settled) {
      log.warn(
        `The handler of ${claimed.commandType} failed after its transaction had completed the command: ${textOf(error)}`,
      );
      return undefined;
    }
    if (isTallymanError(error, "LEASE_LOST")) return undefined;
    this.#metrics.failed(claimed, error);
    const settlement = settlementOfFailure(claimed, error, this.#options);
    this.#failures.failed(claimed, settlement);
    return settlement;
  }

  #settle(claimed: ClaimedRow, attempt: Attempt, settlement: Settlement | undefined): void {
    if (settlement) {
      this.#outcomes.post(settlement, (counts) => this.#settled(claimed, settlement.outcome, counts));
    } else if (attempt.settled) {
      this.#bus.completed(attempt.settled.completedBatches);
      this.#settled(claimed, "COMPLETED", true);
    } else this.#lost(claimed);
  }

  /** Perhaps nobody has taken the command back yet: its lease must run out by itself, or nobody ever would. */
  #lost({ commandId, leaseToken }: ClaimedRow): void {
    this.#leases.unstored(leaseToken);
    this.#metrics.settled("COMPLETED", false);
    log.debug("A command may no longer be ours, it is left to its lease", { commandId });
  }

  #settled({ commandId, replyTo, leaseToken }: ClaimedRow, outcome: Outcome, counts: boolean | Error): void {
    if (counts instanceof Error) {
      this.#leases.unstored(leaseToken);
      log.error(
        `The outcome of command ${commandId} was not stored; it comes back after its lease: ${String(counts)}`,
      );
      return;
    }
    this.#leases.settled(leaseToken);
    this.#metrics.settled(outcome, counts);
    if (!counts) log.debug("A command was no longer ours, its outcome changes nothing", { commandId });
    else if (replyTo !== null) this.#bus.hints.replied(replyTo);
  }

  /** Returns what was not begun; other workers may take it at once. */
  #giveBack(): void {
    const unbegun = this.#queue.splice(0);
    for (const claimed of unbegun) {
      const { id, delivery, leaseToken } = claimed;
      this.#outcomes.post({ id, delivery, outcome: "RELEASED" }, (counts) => {
        if (!(counts instanceof Error)) return this.#leases.settled(leaseToken);
        this.#leases.unstored(leaseToken);
        log.debug("A command was not given back, its lease will run out", { reason: String(counts) });
      });
    }
    if (unbegun.length > 0) void this.#bus.hints.commandsReady(this.domain);
  }

  async #drain(): Promise<void> {
    const { drainMs } = this.#options;
    const stopWaiting = new AbortController();
    const ended = Promise.all(this.#running.values()).finally(() => stopWaiting.abort());
    const isLate = await Promise.race([
      ended.then(() => false),
      sleep(drainMs, stopWaiting.signal).then(
        () => true,
        () => false,
      ),
    ]);
    if (!isLate) return void (await ended);
    const reason = new TallymanError("ABORTED", "The worker stops.");
    for (const attempt of this.#running.keys()) attempt.abort(reason);
    const gone = await Promise.race([
      ended.then(() => true),
      sleep(drainMs, stopWaiting.signal).then(
        () => false,
        () => true,
      ),
    ]);
    if (!gone)
      log.warn(`${this.#running.size} handlers did not end; their commands come back after the lease.`);
  }

  async #surviveClaimFailure(error: unknown, signal: AbortSignal): Promise<void> {
    this.#claimFailures++;
    this.#metrics.errors.add({
      code: "CLAIM_COMMANDS_FAILED",
      message: "Failed to claim commands",
      details: `Domain: ${this.domain}, Error: ${String(error)}`,
    });
    if (this.#claimFailures === 1) log.warn(`No commands could be claimed, trying again: ${String(error)}`);
    await sleep(backoffMs(this.#claimFailures, claimRetry), signal);
  }

  #newOutcomes(): OutcomeBuffer {
    const { groupMax, groupDelayMs, leaseMs } = this.#options;
    return new OutcomeBuffer(this.#bus.database, {
      groupMax,
      groupDelayMs,
      leaseMs,
      onSettled: ({ completedBatches }) => this.#bus.completed(completedBatches),
      onRoom: () => this.#pump(),
    });
  }
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === "function";
}
