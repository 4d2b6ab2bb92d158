import { constants } from "node:os";
import { TallymanError } from "../errors/index.ts";
import { isAbort, linkedAbort } from "./abort.ts";
import { type Clock, systemClock } from "./clock.ts";
import { logger } from "./logger.ts";
import { oneOf, resolveOptions } from "./options.ts";
import type { Service } from "./service.ts";
import { type Deferred, deferred, withTimeout } from "./wait.ts";

const log = logger("shutdown");

/** The shell's convention: a process ended by a signal exits with 128 + its number. */
const signalExitBase = 128;

const keepAliveMs = 3_600_000;

/** Settings of {@link runUntilSignal}. */
export interface ShutdownOptions {
  /** The first of these drains, the second exits at once. Default: SIGTERM and SIGINT. */
  readonly signals: readonly NodeJS.Signals[];
  /** How long the drain may take in all. Default: 30 s. */
  readonly drainMs: number;
  /** "reverse": each service stops after those started behind it; "parallel": all at once. Default: reverse. */
  readonly stopOrder: "reverse" | "parallel";
  /** Ends the wait as a signal of the system does. */
  readonly signal?: AbortSignal;
  /** Ends the process on the second signal. Default: process.exit. */
  readonly exit: (code: number) => void;
  /** Default: the machine's clock. */
  readonly clock: Clock;
}

const defaults = {
  signals: ["SIGTERM", "SIGINT"] as const,
  drainMs: 30_000,
  stopOrder: "reverse" as const,
  signal: undefined,
  exit: (code: number) => process.exit(code),
  clock: systemClock,
};

/**
 * The life of a server process: starts the services in order, waits for a signal, drains them, and takes its
 * signal handlers away again. A service that fails on the way leaves the others running. When one does not
 * start, those before it are drained and its error is thrown.
 *
 * @throws TallymanError TIMED_OUT naming the services that did not stop within `drainMs`; INVALID_OPTION
 * @example
 * ```ts
 * await runUntilSignal([persistence, indexer, server], { drainMs: 10_000 });
 * ```
 */
export async function runUntilSignal(
  services: readonly Service[],
  given: Partial<ShutdownOptions> = {},
): Promise<void> {
  const options = resolveOptions<ShutdownOptions>(defaults, given, {
    stopOrder: oneOf("reverse", "parallel"),
  });
  using shutdown = listenForShutdown(options);
  try {
    await startInOrder(services, shutdown.signal);
    await shutdown.requested;
  } catch (error) {
    // A drain that fails too has logged it; what the caller must know is why the start failed.
    await drain(services, options).catch(() => {});
    throw error;
  }
  await drain(services, options);
}

interface Shutdown extends Disposable {
  readonly requested: Promise<void>;
  readonly signal: AbortSignal;
}

function listenForShutdown({ signals, signal, exit }: ShutdownOptions): Shutdown {
  const requested: Deferred<void> = deferred();
  const abort = linkedAbort(signal);
  abort.signal.addEventListener("abort", () => requested.resolve(), { once: true });
  if (abort.signal.aborted) requested.resolve();
  const onSignal = (name: NodeJS.Signals) => {
    if (abort.signal.aborted) return exit(signalExitBase + constants.signals[name]);
    log.info(`${name} received: draining. A second signal exits at once.`);
    abort.abort();
  };
  for (const name of signals) process.on(name, onSignal);
  // Neither a signal handler nor a pending promise keeps Node alive: services that only listen would just end.
  const keepAlive = setInterval(() => {}, keepAliveMs);
  return {
    requested: requested.promise,
    signal: abort.signal,
    [Symbol.dispose]: () => {
      clearInterval(keepAlive);
      for (const name of signals) process.off(name, onSignal);
      abort[Symbol.dispose]();
    },
  };
}

/** A signal that comes while a service starts stops that one; those behind it are not started. */
async function startInOrder(services: readonly Service[], signal: AbortSignal): Promise<void> {
  for (const service of services) {
    if (signal.aborted) return;
    const interrupt = () => void service.stop();
    signal.addEventListener("abort", interrupt, { once: true });
    try {
      await service.start();
    } catch (error) {
      if (!signal.aborted || !isAbort(error)) throw error;
    } finally {
      signal.removeEventListener("abort", interrupt);
    }
  }
}

async function drain(services: readonly Service[], options: ShutdownOptions): Promise<void> {
  const remaining = new Set(services);
  const stop = async (service: Service) => {
    await service.stop();
    remaining.delete(service);
  };
  try {
    await withTimeout(
      stopAll([...services], stop, options.stopOrder),
      options.drainMs,
      "The drain",
      options.clock,
    );
  } catch {
    throw drainTimedOut([...remaining], options.drainMs);
  }
}

async function stopAll(
  services: readonly Service[],
  stop: (service: Service) => Promise<void>,
  order: ShutdownOptions["stopOrder"],
): Promise<void> {
  if (order === "parallel") await Promise.all(services.map(stop));
  else for (const service of services.toReversed()) await stop(service);
}

function drainTimedOut(remaining: readonly Service[], drainMs: number): TallymanError {
  const names = remaining.map((service) => service.name);
  const message = `The drain did not finish within ${drainMs} ms; not stopped: ${names.join(", ")}.`;
  log.error(message);
  return new TallymanError("TIMED_OUT", message, { details: { services: names, drainMs } });
}
