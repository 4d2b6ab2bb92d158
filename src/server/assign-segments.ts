import { isTallymanError, TallymanError } from "../errors/index.ts";
import type { LeaderInfo, Scheduler } from "../scheduler/index.ts";

/** On a request that a follower has forwarded; such a one is never forwarded again. */
export const forwardedHeader = "x-tallyman-forwarded";

const forwardTimeoutMs = 5_000;

/** A worker that asks for segments. */
export interface Assignment {
  readonly workerId: string;
  readonly desiredSegments: number;
}

/** Assigns, if the coordinator of this process leads; undefined when it does not. */
export async function assignHere(
  { localCoordinator }: Scheduler,
  { workerId, desiredSegments }: Assignment,
): Promise<{ workerId: string; segments: number[] } | undefined> {
  if (!localCoordinator?.term) return undefined;
  try {
    const { assignedSegments } = await localCoordinator.assign(workerId, desiredSegments);
    return { workerId, segments: [...assignedSegments] };
  } catch (error) {
    if (isTallymanError(error, "SCHEDULER_NO_LEADER")) return undefined;
    throw error;
  }
}

/**
 * Asks the leader, at the address that the leader itself has stored with its lease. One hop: who gets a
 * forwarded request and does not lead answers that nobody does.
 *
 * @throws TallymanError SCHEDULER_NO_LEADER when there is none, or it does not answer
 */
export async function forwardToLeader(
  scheduler: Scheduler,
  assignment: Assignment,
  forwardedBy: string | string[] | undefined,
): Promise<{ status: number; body: unknown }> {
  const leader = await scheduler.coordinators.leader();
  if (forwardedBy !== undefined || leader.coordinatorId === scheduler.localCoordinator?.coordinatorId)
    throw unreachable(leader, "it is just changing");
  const query = new URLSearchParams({
    workerId: assignment.workerId,
    desiredSegments: String(assignment.desiredSegments),
  });
  const host = leader.host.includes(":") ? `[${leader.host}]` : leader.host;
  try {
    const response = await fetch(`http://${host}:${leader.port}/api/segments/assign?${query}`, {
      method: "POST",
      headers: { [forwardedHeader]: scheduler.localCoordinator?.coordinatorId ?? "unnamed" },
      redirect: "error",
      signal: AbortSignal.timeout(forwardTimeoutMs),
    });
    return { status: response.status, body: await response.json() };
  } catch (cause) {
    throw unreachable(leader, "it does not answer", cause);
  }
}

function unreachable({ coordinatorId }: LeaderInfo, why: string, cause?: unknown): TallymanError {
  return new TallymanError(
    "SCHEDULER_NO_LEADER",
    `The leader '${coordinatorId}' could not be asked: ${why}. Ask again in a moment.`,
    { cause, details: { coordinatorId } },
  );
}
