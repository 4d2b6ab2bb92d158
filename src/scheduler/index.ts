/**
 * The scheduler: one leader, every segment owned once.
 */
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
export { type JobHistoryOptions, type JobListOptions, type JobRun, JobStore } from "./job-store.ts";
export type { MisfirePolicy, Schedule } from "./schedule.ts";
export { SchedulerWorker } from "./scheduler-worker.ts";
export type { SchedulerWorkerOptions } from "./scheduler-worker-options.ts";
export { lockSegmentCount, segmentCount } from "./sql/segment.ts";
export type {
  HeartbeatAnswer,
  SegmentGrant,
  SegmentInfo,
  SegmentStatus,
  WorkerInfo,
  WorkerStatus,
} from "./worker-info.ts";
