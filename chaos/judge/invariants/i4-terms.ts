import type { Facts, SchedulerFacts } from "../facts.ts";
import type { Violation } from "../violation.ts";

const wrong = (what: string): Violation => ({ invariant: "I4", kind: "wrong", what });

/** I4: terms only increase, each has one holder and one process that writes in it, and no write comes after its term. */
export function checkTerms({ scheduler }: Facts): Violation[] {
  return scheduler ? [...leaseFaults(scheduler), ...writeFaults(scheduler)] : [];
}

interface Term {
  readonly holder: string;
  readonly writer: string;
}

function leaseFaults({ leaseLog }: SchedulerFacts): Violation[] {
  const terms = new Map<number, Term>();
  let highest = 0;
  return leaseLog.flatMap(({ epoch, holder, writer }) => {
    const faults = epoch < highest ? [wrong(`term ${epoch} came after term ${highest}`)] : [];
    highest = Math.max(highest, epoch);
    const term = terms.get(epoch) ?? { holder, writer };
    terms.set(epoch, term);
    if (term.holder !== holder)
      faults.push(wrong(`term ${epoch} has two holders: ${term.holder} and ${holder}`));
    if (term.writer !== writer)
      faults.push(wrong(`${writer} wrote in term ${epoch}, which is ${term.writer}'s`));
    return faults;
  });
}

/** Coordinators write to segments as leaders only. */
function writeFaults({ leaseLog, segmentLog }: SchedulerFacts): Violation[] {
  const leaders = new Map(leaseLog.map(({ epoch, writer }) => [epoch, writer]));
  return segmentLog
    .filter(({ writer }) => writer.startsWith("coordinator"))
    .flatMap(({ segmentId, leaderEpoch, leaseEpoch, writer }) => {
      if (leaderEpoch !== leaseEpoch)
        return [
          wrong(
            `${writer} wrote to segment ${segmentId} in term ${leaderEpoch} when it was term ${leaseEpoch}`,
          ),
        ];
      const leader = leaders.get(leaderEpoch);
      return leader === writer
        ? []
        : [wrong(`${writer} wrote to segment ${segmentId} in term ${leaderEpoch} of ${leader}`)];
    });
}
