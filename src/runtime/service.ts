import { setImmediate as yieldToEvents } from "node:timers/promises";
import { TallymanError } from "../errors/index.ts";
import { isAbort } from "./abort.ts";
import { type Logger, logger } from "./logger.ts";
import { type Deferred, deferred, WakeUp } from "./wait.ts";

/** Where a service is in its life. ERROR: it has ended with a {@link Service.failure}, until the next start. */
export type ServiceState = "STOPPED" | "RUNNING" | "PAUSED" | "ERROR";

/** Told of every change of state, synchronously. */
export type ServiceStateListener = (state: ServiceState, previous: ServiceState) => void;

/** One life of a service, from start to stop or failure. */
interface Run {
  readonly controller: AbortController;
  /** Resolves when loop and onStop are over. */
  ended: Promise<void>;
  /** Present from pause() to resume(). */
  pause: { readonly parked: Deferred<void>; readonly resumed: WakeUp } | undefined;
}

/**
 * A long-runner: a loop around {@link runOnce} with a lifecycle.
 *
 * Calls of start, stop, pause, resume and restart may come at any time and from anywhere: they take effect
 * one after the other, in the order of the calls, while stop() interrupts at once whatever is running. Do not
 * await a lifecycle call inside the service's own hooks; `void this.stop()` ends a service from within.
 *
 * @example
 * ```ts
 * import { setTimeout as sleep } from "node:timers/promises";
 *
 * class Sweeper extends Service {
 *   protected override async runOnce(signal: AbortSignal) {
 *     await sweep(signal);
 *     await sleep(60_000, undefined, { signal });
 *   }
 * }
 * await using sweeper = new Sweeper("sweeper");
 * await sweeper.start();
 * ```
 */
export abstract class Service implements AsyncDisposable {
  readonly name: string;
  readonly #log: Logger;
  readonly #listeners = new Set<ServiceStateListener>();
  #state: ServiceState = "STOPPED";
  #failure: Error | undefined;
  #run: Run | undefined;
  #lastCall: Promise<unknown> = Promise.resolve();
  /** Calls of stop() whose turn has not come. */
  #stopsQueued = 0;

  /** @param name - as in the configuration; also the name of the service's logger */
  constructor(name: string) {
    this.name = name;
    this.#log = logger(name);
  }

  /** Acquires what the loop needs; start() rejects with what it throws. */
  protected onStart?(signal: AbortSignal): Promise<void>;

  /**
   * One turn of the loop. Should end soon after the signal is aborted; an abort error is then a normal end,
   * any other error puts the service in state ERROR.
   */
  protected abstract runOnce(signal: AbortSignal): Promise<void>;

  /** The final flush and the release of resources; runs after each onStart, whether that or the loop failed. */
  protected onStop?(): Promise<void>;

  get state(): ServiceState {
    return this.#state;
  }

  /** The error that ended this life of the service; kept until the next start(). */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /**
   * STOPPED or ERROR → RUNNING, after onStart. Does nothing when RUNNING.
   *
   * @throws TallymanError INVALID_STATE when PAUSED, ABORTED when stop() came first; or the error of onStart
   */
  start(): Promise<void> {
    return this.#inOrder(() => this.#begin());
  }

  /**
   * Aborts the loop's signal, waits for the running turn and for onStop, and ends STOPPED; or in ERROR when
   * the service has failed, now or before. Safe before start() and twice; concurrent calls share one drain.
   * Never rejects: look at `failure`.
   */
  stop(): Promise<void> {
    this.#stopsQueued++;
    this.#run?.controller.abort();
    return this.#inOrder(() => this.#end());
  }

  /**
   * RUNNING → PAUSED; resolves when the present turn has finished.
   *
   * @throws TallymanError INVALID_STATE when not RUNNING, or when the present turn failed or was stopped
   */
  pause(): Promise<void> {
    return this.#inOrder(() => this.#park());
  }

  /**
   * PAUSED → RUNNING.
   *
   * @throws TallymanError INVALID_STATE when not PAUSED
   */
  resume(): Promise<void> {
    return this.#inOrder(async () => this.#unpark());
  }

  /**
   * stop(), then start().
   *
   * @throws as start()
   */
  restart(): Promise<void> {
    void this.stop();
    return this.start();
  }

  /** Calls the listener on each change of state, until the returned function is called. */
  onStateChange(listener: ServiceStateListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #inOrder(call: () => Promise<void>): Promise<void> {
    const result = this.#lastCall.then(call);
    this.#lastCall = result.catch(() => {});
    return result;
  }

  async #begin(): Promise<void> {
    if (this.#state === "RUNNING") return;
    if (this.#state === "PAUSED") throw this.#wrongState("start");
    await this.#run?.ended;
    if (this.#stopsQueued > 0) throw this.#stoppedWhileStarting();
    const run: Run = { controller: new AbortController(), ended: Promise.resolve(), pause: undefined };
    this.#run = run;
    this.#failure = undefined;
    await this.#acquire(run.controller.signal);
    this.#setState("RUNNING");
    this.#log.info("Started.");
    run.ended = this.#loop(run);
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    try {
      await this.onStart?.(signal);
      signal.throwIfAborted();
    } catch (error) {
      const wasStopped = signal.aborted;
      if (!wasStopped) this.#endInError(error);
      await this.#release();
      throw wasStopped ? this.#stoppedWhileStarting(error) : error;
    }
  }

  async #loop(run: Run): Promise<void> {
    const { signal } = run.controller;
    try {
      while (!signal.aborted) {
        await (run.pause ? this.#waitForResume(run.pause, signal) : this.runOnce(signal));
        // A turn that found nothing to wait for must not keep signals and timers of the process from running.
        await yieldToEvents();
      }
    } catch (error) {
      if (!signal.aborted || !isAbort(error)) this.#fail(error, "Failed");
    }
    run.pause?.parked.resolve();
    await this.#release();
  }

  async #waitForResume(pause: NonNullable<Run["pause"]>, signal: AbortSignal): Promise<void> {
    pause.parked.resolve();
    await pause.resumed.wait(Number.POSITIVE_INFINITY, signal);
  }

  async #release(): Promise<void> {
    try {
      await this.onStop?.();
    } catch (error) {
      this.#fail(error, "Failed to stop cleanly");
    }
  }

  #fail(error: unknown, what: string): void {
    this.#log.error(`${what}: ${toError(error).message}`, { error });
    this.#endInError(error);
  }

  #endInError(error: unknown): void {
    this.#failure ??= toError(error);
    this.#setState("ERROR");
  }

  async #end(): Promise<void> {
    this.#stopsQueued--;
    const run = this.#run;
    if (!run) return;
    run.controller.abort();
    await run.ended;
    this.#run = undefined;
    if (this.#failure || this.#state === "STOPPED") return;
    this.#setState("STOPPED");
    this.#log.info("Stopped.");
  }

  async #park(): Promise<void> {
    const run = this.#aliveIn("RUNNING", "pause");
    const parked = deferred();
    run.pause = { parked, resumed: new WakeUp() };
    this.#setState("PAUSED");
    await parked.promise;
    this.#aliveIn("PAUSED", "pause");
    this.#log.info("Paused.");
  }

  #unpark(): void {
    const run = this.#aliveIn("PAUSED", "resume");
    run.pause?.resumed.notify();
    run.pause = undefined;
    this.#setState("RUNNING");
    this.#log.info("Resumed.");
  }

  #aliveIn(state: ServiceState, operation: string): Run {
    if (this.#run && this.#state === state && !this.#run.controller.signal.aborted) return this.#run;
    throw this.#wrongState(operation);
  }

  #setState(state: ServiceState): void {
    const previous = this.#state;
    if (state === previous) return;
    this.#state = state;
    if (state === "RUNNING" || state === "PAUSED") running.add(this);
    else running.delete(this);
    for (const listener of [...this.#listeners]) {
      try {
        listener(state, previous);
      } catch (error) {
        this.#log.error("A state listener threw.", { error });
      }
    }
  }

  #wrongState(operation: string): TallymanError {
    const isStopping = this.#state !== "ERROR" && this.#run?.controller.signal.aborted;
    const state = isStopping ? "stopping" : this.#state;
    return new TallymanError("INVALID_STATE", `Can't ${operation} ${this.name}: it is ${state}.`, {
      details: { service: this.name, state: this.#state },
    });
  }

  #stoppedWhileStarting(cause?: unknown): TallymanError {
    return new TallymanError("ABORTED", `${this.name} was stopped while starting.`, { cause });
  }
}

const running = new Set<Service>();

/** The services of this process that are RUNNING or PAUSED; a test that ends with one has leaked it. */
export function runningServices(): ReadonlySet<Service> {
  return running;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
