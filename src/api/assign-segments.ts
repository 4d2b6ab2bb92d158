import { type ErrorCode, errorCatalogue, isTallymanError, TallymanError } from "../errors/index.ts";
import type { LeaderInfo, Scheduler } from "../scheduler/index.ts";

/** On a request that a follower has forwarded; such a one is never forwarded again. */
export const forwardedHeader = "x-tallyman-forwarded";

const forwardTimeoutMs = 5_000;

/** A worker that asks for segments. */
export interface Assignment {
  readonly workerId: string;
  readonly desiredSegments: number;
}

interface Assigned {
  readonly workerId: string;
  readonly segments: readonly number[];
}

type Headers = Readonly<Record<string, string | undefined>>;

/**
 * Assigns segments, here when the coordinator of this process leads, else by asking the leader.
 *
 * @throws TallymanError SCHEDULER_NO_LEADER when there is none, or it does not answer; what the leader reports
 */
export async function assignSegments(
  scheduler: Scheduler,
  assignment: Assignment,
  headers: Headers,
): Promise<Assigned> {
  return (await assignHere(scheduler, assignment)) ?? (await askLeader(scheduler, assignment, headers));
}

/** Assigns, if the coordinator of this process leads; undefined when it does not. */
async function assignHere(
  { localCoordinator }: Scheduler,
  { workerId, desiredSegments }: Assignment,
): Promise<Assigned | undefined> {
  if (!localCoordinator?.term) return undefined;
  try {
    const { assignedSegments } = await localCoordinator.assign(workerId, desiredSegments);
    return { workerId, segments: assignedSegments };
  } catch (error) {
    if (isTallymanError(error, "SCHEDULER_NO_LEADER")) return undefined;
    throw error;
  }
}

/**
 * Asks the leader, at the address that the leader itself has stored with its lease, in the name of whoever asked
 * us. One hop: who gets a forwarded request and does not lead answers that nobody does.
 */
async function askLeader(
  scheduler: Scheduler,
  { workerId, desiredSegments }: Assignment,
  { authorization, [forwardedHeader]: forwardedBy }: Headers,
): Promise<Assigned> {
  const leader = await scheduler.coordinators.leader();
  if (forwardedBy !== undefined || leader.coordinatorId === scheduler.localCoordinator?.coordinatorId)
    throw unreachable(leader, "it is just changing");
  const query = new URLSearchParams({ workerId, desiredSegments: String(desiredSegments) });
  const host = leader.host.includes(":") ? `[${leader.host}]` : leader.host;
  const answer = await fetch(`http://${host}:${leader.port}/api/segments/assign?${query}`, {
    method: "POST",
    headers: {
      [forwardedHeader]: scheduler.localCoordinator?.coordinatorId ?? "unnamed",
      ...(authorization !== undefined && { authorization }),
    },
    redirect: "error",
    signal: AbortSignal.timeout(forwardTimeoutMs),
  })
    .then((response) => response.json() as Promise<LeaderAnswer>)
    .catch((cause: unknown) => {
      throw unreachable(leader, "it does not answer", cause);
    });
  return assignedOf(answer, leader);
}

interface LeaderAnswer {
  readonly data?: Assigned;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly details: Record<string, unknown>;
  };
}

function assignedOf({ data, error }: LeaderAnswer, leader: LeaderInfo): Assigned {
  if (data) return data;
  if (!error || !Object.hasOwn(errorCatalogue, error.code)) throw unreachable(leader, "it gave no answer");
  throw new TallymanError(error.code as ErrorCode, error.message, { details: error.details });
}

function unreachable({ coordinatorId }: LeaderInfo, why: string, cause?: unknown): TallymanError {
  return new TallymanError(
    "SCHEDULER_NO_LEADER",
    `The leader '${coordinatorId}' could not be asked: ${why}. Ask again in a moment.`,
    { cause, details: { coordinatorId } },
  );
}
