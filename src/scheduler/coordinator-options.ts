import {
  type Clock,
  type OptionDefaults,
  type OptionRules,
  required,
  systemClock,
  wholeNumber,
} from "../runtime/index.ts";

/** Settings of a {@link Coordinator}. */
export interface CoordinatorOptions {
  /** Unique among the coordinators; a later process of the same id replaces an earlier one. */
  readonly coordinatorId: string;
  /** Where other coordinators reach this one. Default 127.0.0.1. */
  readonly host: string;
  /** The port of its HTTP API. */
  readonly port: number;
  /** Time between two heartbeats of the coordinator. Default 30 s. */
  readonly heartbeatIntervalMs: number;
  /** Silence after which it is shown as OFFLINE; at least twice the interval. Default 60 s. */
  readonly heartbeatTimeoutMs: number;
  /** A follower looks at the lease no rarer than this, and never rarer than every 2 s. Default 10 s. */
  readonly leaderElectionIntervalMs: number;
  /** How long leadership lasts without a renewal. Default 10 s. */
  readonly leaseMs: number;
  /** Time between two renewals; at most a third of the lease. Default 3 s. */
  readonly renewMs: number;
  /** How often the leader looks for silent workers when no hint comes. Default 1 s. */
  readonly scanIntervalMs: number;
  /** Time that a worker has to give a segment back. Default 10 s. */
  readonly revokeMs: number;
  /** How long the leader waits for further workers before it moves segments to a new one. Default 500 ms. */
  readonly joinDelayMs: number;
  /** Default: the machine's clock. */
  readonly clock: Clock;
}

export const coordinatorDefaults: OptionDefaults<CoordinatorOptions> = {
  coordinatorId: required,
  host: "127.0.0.1",
  port: required,
  heartbeatIntervalMs: 30_000,
  heartbeatTimeoutMs: 60_000,
  leaderElectionIntervalMs: 10_000,
  leaseMs: 10_000,
  renewMs: 3_000,
  scanIntervalMs: 1_000,
  revokeMs: 10_000,
  joinDelayMs: 500,
  clock: systemClock,
};

export const coordinatorRules: OptionRules<CoordinatorOptions> = {
  port: wholeNumber({ max: 65_535 }),
  joinDelayMs: wholeNumber({ min: 0 }),
  heartbeatTimeoutMs: (value, { heartbeatIntervalMs }) =>
    value >= 2 * heartbeatIntervalMs
      ? undefined
      : `at least twice heartbeatIntervalMs (${heartbeatIntervalMs})`,
  renewMs: (value, { leaseMs }) =>
    value > 0 && value <= leaseMs / 3 ? undefined : `more than 0 and at most a third of leaseMs (${leaseMs})`,
};
