import type { Facts, SchedulerFacts } from "../facts.ts";
import type { Violation } from "../violation.ts";

const violation = (kind: Violation["kind"], what: string): Violation => ({ invariant: "I5", kind, what });

/** I5: a segment's epoch only grows and has one owner; in the end all segments belong to workers that are there. */
export function checkSegments({ scheduler }: Facts): Violation[] {
  return scheduler ? [...ownerFaults(scheduler), ...unowned(scheduler)] : [];
}

function ownerFaults({ segmentLog }: SchedulerFacts): Violation[] {
  const owners = new Map<string, string>();
  return segmentLog.flatMap(({ segmentId, oldEpoch, epoch, workerId }) => {
    const faults =
      epoch < oldEpoch
        ? [violation("wrong", `segment ${segmentId} went back from epoch ${oldEpoch} to ${epoch}`)]
        : [];
    if (workerId === null) return faults;
    const owner = owners.get(`${segmentId}/${epoch}`) ?? workerId;
    owners.set(`${segmentId}/${epoch}`, owner);
    if (owner === workerId) return faults;
    return [
      ...faults,
      violation("doubled", `epoch ${epoch} of segment ${segmentId} belongs to ${owner} and to ${workerId}`),
    ];
  });
}

function unowned({ segments }: SchedulerFacts): Violation[] {
  return segments
    .filter(({ status, isOwnerOnline }) => status !== "ASSIGNED" || !isOwnerOnline)
    .map(({ segmentId, status }) =>
      violation("lost", `segment ${segmentId} is ${status} and nobody works on it`),
    );
}
