import type { WorkerInfo } from "./worker-info.ts";

/** How many segments nobody's cap covers, however they are distributed: their jobs do not fire. Pure. */
export function uncoveredSegments(
  segmentCount: number,
  workers: readonly Pick<WorkerInfo, "status" | "cap">[],
): number {
  const online = workers.filter(({ status }) => status === "ONLINE");
  const covered = online.reduce((sum, { cap }) => sum + (cap ?? segmentCount), 0);
  return Math.max(0, segmentCount - covered);
}
