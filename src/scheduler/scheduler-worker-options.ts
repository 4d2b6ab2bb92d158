import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import {
  type Clock,
  type OptionDefaults,
  type OptionRules,
  systemClock,
  wholeNumber,
} from "../runtime/index.ts";

/** Settings of a {@link SchedulerWorker}. */
export interface SchedulerWorkerOptions {
  /** Who it is, in the fleet. Default: host, process and a random part. */
  readonly workerId: string;
  /** Segments at most. Default: no limit, it takes its share. */
  readonly cap?: number;
  /** How often it says that it is alive, and learns what it may work on. Default 1 s. */
  readonly heartbeatIntervalMs: number;
  /** Silence after which it loses its segments; at least twice the interval. Default 5 s. */
  readonly heartbeatTimeoutMs: number;
  /** Longest wait without looking for due jobs when no hint comes. Default 1 s. */
  readonly pollIntervalMs: number;
  /** Shortest time between two looks while jobs become due one by one: those in between fire together. Default 20 ms. */
  readonly gatherMs: number;
  /** Jobs fired in one transaction at most. Default 1,000. */
  readonly firesMax: number;
  /** How long the history of fires is kept. Default 30 days. */
  readonly keepHistoryMs: number;
  /** Default: the machine's clock. */
  readonly clock: Clock;
}

export function schedulerWorkerDefaults(): OptionDefaults<SchedulerWorkerOptions> {
  return {
    workerId: `${hostname().replaceAll(/[^A-Za-z0-9.-]/g, "-")}-${process.pid}-${randomBytes(3).toString("hex")}`,
    cap: undefined,
    heartbeatIntervalMs: 1_000,
    heartbeatTimeoutMs: 5_000,
    pollIntervalMs: 1_000,
    gatherMs: 20,
    firesMax: 1_000,
    keepHistoryMs: 30 * 86_400_000,
    clock: systemClock,
  };
}

export const schedulerWorkerRules: OptionRules<SchedulerWorkerOptions> = {
  cap: wholeNumber({ min: 0 }),
  gatherMs: wholeNumber({ min: 0 }),
  firesMax: wholeNumber({ max: 10_000 }),
  heartbeatTimeoutMs: (timeoutMs, { heartbeatIntervalMs }) =>
    wholeNumber()(timeoutMs) ??
    (timeoutMs >= 2 * heartbeatIntervalMs ? undefined : "at least twice heartbeatIntervalMs"),
};
