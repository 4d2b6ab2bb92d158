import { hostname } from "node:os";
import {
  type Clock,
  nameRule,
  type OptionDefaults,
  type OptionRules,
  required,
  systemClock,
  wholeNumber,
} from "../runtime/index.ts";
import type { CommandHandler } from "./command-handler.ts";
import { newCommandId } from "./command-id.ts";
import type { RetentionOptions } from "./maintenance.ts";

/** Settings of a {@link Worker}. */
export interface WorkerOptions {
  /** The domain whose commands it takes. */
  readonly domain: string;
  /** Handlers by command type; `worker.handle` adds more. Default {}. */
  readonly handlers: Readonly<Record<string, CommandHandler>>;
  /** Handlers that run at the same time. Default 10. */
  readonly concurrency: number;
  /** Commands held at most, running ones included; fewer when handlers are slow. Default 2,000. */
  readonly prefetch: number;
  /** How long a command stays with a worker that is not heard of. Default 30 s; renewed every third of it. */
  readonly leaseMs: number;
  /** Longest wait for work when no hint comes. Default 1 s. */
  readonly pollIntervalMs: number;
  /** Time for one run of a handler, which `context.extend()` starts anew. Default 10 minutes. */
  readonly handlerTimeoutMs: number;
  /** Attempts before the troubleshooting queue, for commands that name no limit of their own. Default 3. */
  readonly maxAttempts: number;
  /** Delays after the first, second, … failed attempt; the last repeats. Default 10, 60 and 300 s. */
  readonly backoffMs: readonly number[];
  /** Workers that a command may lose before it is taken for the cause. Default 10. */
  readonly lostLeasesMax: number;
  /** Outcomes committed together at most. Default 1,000. */
  readonly groupMax: number;
  /** How long the first outcome of a smaller group waits for others. Default 2 ms. */
  readonly groupDelayMs: number;
  /** Time for running handlers on stop; then their signals are aborted. Default 30 s. */
  readonly drainMs: number;
  /** How often this worker looks for lost leases, expired batches and old rows. Default 5 s. */
  readonly maintenanceIntervalMs: number;
  /** What may be deleted, and when. Default: nothing. */
  readonly retention?: RetentionOptions;
  /** Shown with its leases. Default: host, process and a random part. */
  readonly name: string;
  /** Default: the machine's clock. */
  readonly clock: Clock;
}

export function workerDefaults(): OptionDefaults<WorkerOptions> {
  return {
    domain: required,
    handlers: {},
    concurrency: 10,
    prefetch: 2_000,
    leaseMs: 30_000,
    pollIntervalMs: 1_000,
    handlerTimeoutMs: 600_000,
    maxAttempts: 3,
    backoffMs: [10_000, 60_000, 300_000],
    lostLeasesMax: 10,
    groupMax: 1_000,
    groupDelayMs: 2,
    drainMs: 30_000,
    maintenanceIntervalMs: 5_000,
    retention: undefined,
    name: `${hostname()}-${process.pid}-${newCommandId().slice(-6)}`,
    clock: systemClock,
  };
}

export const workerRules: OptionRules<WorkerOptions> = {
  domain: nameRule,
  groupDelayMs: wholeNumber({ min: 0 }),
  backoffMs: (delays) =>
    Array.isArray(delays) && delays.length > 0 && delays.every((ms) => Number.isFinite(ms) && ms >= 0)
      ? undefined
      : "a list of one or more delays of at least 0",
};
