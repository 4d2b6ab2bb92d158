import { uncoveredSegments } from "../../scheduler/index.ts";
import type { Tallyman } from "../tallyman.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";

/** Somebody must lead where workers wait for segments. */
export async function checkLeader({ scheduler }: Tallyman): Promise<Finding> {
  const name = "scheduler leader";
  const [leader, coordinators, workers] = await Promise.all([
    scheduler.coordinators.findLeader(),
    scheduler.coordinators.list(),
    scheduler.fleet.listWorkers(),
  ]);
  if (leader) {
    const others = coordinators.filter(({ isLeader, status }) => !isLeader && status === "ONLINE").length;
    return ok(name, `${leader.coordinatorId} leads in term ${leader.epoch}, ${others} stand by`);
  }
  const isInUse = coordinators.length > 0 || workers.some(({ status }) => status !== "OFFLINE");
  if (!isInUse) return ok(name, "the scheduler is not in use");
  const found = `nobody leads; ${coordinators.length} coordinators are registered`;
  return failure(
    name,
    found,
    "Start one with 'tallyman coordinator': without a leader no segment changes hands.",
  );
}

/** Workers that are silent have lost their segments. */
export async function checkSchedulerWorkers({ scheduler }: Tallyman): Promise<Finding> {
  const name = "scheduler workers";
  const workers = await scheduler.fleet.listWorkers();
  const count = (status: string) => workers.filter((worker) => worker.status === status).length;
  const found = `${count("ONLINE")} online, ${count("DRAINING")} draining, ${count("UNHEALTHY")} unhealthy`;
  const silent = workers.filter(({ status }) => status === "UNHEALTHY").map(({ workerId }) => workerId);
  if (silent.length === 0) return ok(name, found);
  const remedy = `Look after ${silent.join(", ")}: no heartbeat arrives, and others have their segments.`;
  return warning(name, found, remedy);
}

/** Jobs in a segment that nobody owns do not fire. */
export async function checkSegments({ scheduler }: Tallyman): Promise<Finding> {
  const name = "segments";
  const [segments, workers] = await Promise.all([
    scheduler.fleet.segmentMap(),
    scheduler.fleet.listWorkers(),
  ]);
  const online = workers.filter(({ status }) => status === "ONLINE");
  const available = segments.filter(({ status }) => status === "AVAILABLE").length;
  const found = `${segments.length - available} of ${segments.length} owned`;
  if (available === 0) return ok(name, found);
  if (online.length === 0) return ok(name, `${found}; no scheduler worker is online`);
  const uncovered = uncoveredSegments(segments.length, workers);
  if (uncovered === 0)
    return warning(name, found, "Wait for the next rebalance; if it stays so, look at the leader.");
  return warning(
    name,
    `${found}; nobody's cap covers ${uncovered} of them, and their jobs do not fire`,
    "Raise a worker's cap (POST /api/segments/assign), or start a scheduler worker without one.",
  );
}
