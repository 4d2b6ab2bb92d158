import type { SegmentInfo, WorkerInfo } from "./worker-info.ts";

/** How many segments nobody's cap covers, however they are distributed: their jobs do not fire. Pure. */
export function uncoveredSegments(segments: readonly SegmentInfo[], workers: readonly WorkerInfo[]): number {
  const online = workers.filter(({ status }) => status === "ONLINE");
  const covered = online.reduce((sum, { cap }) => sum + (cap ?? segments.length), 0);
  return Math.max(0, segments.length - covered);
}
