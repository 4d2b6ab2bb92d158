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
export { lockSegmentCount, segmentCount } from "./sql/segment.ts";
export type {
  HeartbeatAnswer,
  SegmentGrant,
  SegmentInfo,
  SegmentStatus,
  WorkerInfo,
  WorkerStatus,
} from "./worker-info.ts";
