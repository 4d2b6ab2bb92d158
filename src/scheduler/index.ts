/**
 * The scheduler: one leader, every segment owned once, every fire exactly once.
 *
 * **Model.** Coordinators campaign for one lease; the leader looks after a fleet of scheduler workers and gives
 * them segments, the shares of the job store. Everything is in the database: a coordinator's process keeps
 * nothing that a new leader would need.
 *
 * ```
 *   worker    register ─► ONLINE ── silent for its timeout ──► UNHEALTHY ── another ──► OFFLINE
 *                         ▲ │ drain         (its segments are taken)  │        │ leave: at once
 *                         │ └► DRAINING     a heartbeat brings it back ┘ ◄──────┘
 *
 *   segment   AVAILABLE ─ leader assigns ─► ASSIGNED ─ leader revokes ─► REVOKING
 *                 ▲                            │ release, leave, silence     │ release, or the deadline
 *                 └────────────────────────────┴─────────────────────────────┘   epoch + 1 each time
 * ```
 *
 * **Invariants.** Clocks give liveness; rows and epochs give safety. The leader's epoch only rises, with one
 * holder each; every write of a leader locks the lease's row FOR SHARE on (holder, epoch), so none commits
 * after a later election. A segment's epoch only rises; who works on a segment locks its row FOR SHARE on
 * (worker, epoch), so a grant that is over is refused. Only the database's clock is compared with a stored
 * time. A process is known by its boot id, never by its name.
 *
 * **Fairness.** {@link rebalance}: caps are respected, workers below theirs differ by one segment at most, as
 * many segments are owned as caps allow, and as few move as that takes.
 *
 * **Jobs.** A job is a schedule (once, an interval, a cron pattern in a zone) and what each fire puts on the
 * command bus: a command or a batch. `segment = hash(key) mod segments`. A {@link SchedulerWorker} looks only at its
 * own segments, decides what is due ({@link planFire}, pure), and fires a bulk in one statement: hold the segments,
 * advance each job from the time that was seen, record the fire, enqueue.
 *
 * ```
 *   SCHEDULED ── fire, or missed ──► SCHEDULED … ── no time left ──► FINISHED
 *       │ ▲ pause / resume  ► PAUSED      │ the fire itself fails ► PARKED, with its error; resume or update
 * ```
 *
 * Each time of a schedule before a job's next one has exactly one fire or lies in exactly one missed range; the
 * next time only grows, whatever clocks do. What a fire puts on the bus is there exactly once; that its handler
 * runs is the bus's promise, at least once, and (job, fire time) is the key to make it harmless.
 *
 * **Locks.** Lease, then workers, then segments, then jobs, each in the order of keys. A worker waits for no job: one
 * that a client holds in an open transaction is left out until the next turn.
 *
 * **Failure.** A leader that dies is replaced when its lease runs out; one that stops resigns. A leader cut off
 * from the database stops by its own monotonic clock. A worker that dies loses its segments at its timeout; one
 * that was only slow finds its grants refused, and gets others with its next heartbeat. A worker that does not
 * give back what was revoked loses it at the deadline. Hints (NOTIFY) only shorten waits.
 */
export { Coordinator } from "./coordinator.ts";
export type { CoordinatorOptions } from "./coordinator-options.ts";
export type { Term } from "./coordinator-store.ts";
export { type CoordinatorAddress, Coordinators } from "./coordinators.ts";
export { uncoveredSegments } from "./coverage.ts";
export {
  Fleet,
  type ProcessOption,
  type RegisterOptions,
  type SegmentCountOptions,
  segmentCountMax,
} from "./fleet.ts";
export { type SchedulerChannels, schedulerChannels } from "./hints.ts";
export type {
  JobChanges,
  JobCommand,
  JobDefinition,
  JobFire,
  JobInfo,
  JobStatus,
  OverlapPolicy,
} from "./job.ts";
export { jobCommandsMax } from "./job-definition.ts";
export {
  type JobHistoryOptions,
  type JobListOptions,
  type JobRun,
  JobStore,
  jobNotFound,
} from "./job-store.ts";
export {
  type FleetState,
  type Move,
  type Moves,
  rebalance,
  type SegmentState,
  type WorkerState,
} from "./rebalance.ts";
export type { MisfirePolicy, Schedule } from "./schedule.ts";
export { Scheduler } from "./scheduler.ts";
export { SchedulerWorker } from "./scheduler-worker.ts";
export type { SchedulerWorkerOptions } from "./scheduler-worker-options.ts";
export type { CoordinatorInfo } from "./sql/coordinator.ts";
export type { JobHealth } from "./sql/job.ts";
export type { LeaderInfo } from "./sql/lease.ts";
export { lockSegmentCount, segmentCount } from "./sql/segment.ts";
export { idPatternText } from "./validate-id.ts";
export type {
  FleetCounts,
  HeartbeatAnswer,
  SegmentGrant,
  SegmentInfo,
  SegmentStatus,
  WorkerInfo,
  WorkerStatus,
} from "./worker-info.ts";
