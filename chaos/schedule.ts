import { pick, randomFrom } from "./random.ts";

/** What the schedule must know about a fault. */
export interface FaultPlan {
  readonly name: string;
  /** What it may hit: slots of the fleet, or a place such as `postgres`. */
  readonly targets: readonly string[];
  /** How long it lasts at most; its target is spared meanwhile. */
  readonly lastsMs: number;
  /** How often it comes, compared with the others. */
  readonly weight: number;
}

/** One fault of a run: what happens to whom, and when. */
export interface Strike {
  readonly number: number;
  /** Since the faults began. */
  readonly atMs: number;
  readonly fault: string;
  readonly target: string;
  /** In [0, 1): whatever else the fault leaves open. */
  readonly random: number;
}

/** What a schedule follows from. */
export interface ScheduleOptions {
  readonly seed: number;
  readonly lengthMs: number;
  /** Time between two faults, on average. */
  readonly everyMs: number;
  readonly faults: readonly FaultPlan[];
}

/** The gap between two faults varies by this share of the average. */
const spread = 0.8;

/**
 * The faults of a run, in the order of time. Pure: the same options give the same schedule, so a seed is all
 * that it takes to break things in the same order again. A target that suffers already is spared, so that
 * faults overlap but do not undo each other.
 */
export function scheduleOf({ seed, lengthMs, everyMs, faults }: ScheduleOptions): Strike[] {
  const random = randomFrom(seed);
  const busyUntilMs = new Map<string, number>();
  const strikes: Strike[] = [];
  const nextGap = () => everyMs * (1 - spread / 2 + spread * random());
  for (let atMs = nextGap(); atMs < lengthMs; atMs += nextGap()) {
    const [byFault, byTarget, rest] = [random(), random(), random()];
    const fault = pickByWeight(faults, byFault);
    const free = fault.targets.filter((target) => (busyUntilMs.get(target) ?? 0) <= atMs);
    if (free.length === 0) continue;
    const target = pick(free, byTarget);
    busyUntilMs.set(target, atMs + fault.lastsMs);
    strikes.push({
      number: strikes.length + 1,
      atMs: Math.round(atMs),
      fault: fault.name,
      target,
      random: rest,
    });
  }
  return strikes;
}

function pickByWeight(faults: readonly FaultPlan[], random: number): FaultPlan {
  const total = faults.reduce((sum, { weight }) => sum + weight, 0);
  let rest = random * total;
  const found = faults.find(({ weight }) => {
    rest -= weight;
    return rest < 0;
  });
  return found ?? pick(faults, random);
}
