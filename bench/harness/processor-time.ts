/** Processor time of processes, from Linux's /proc; elsewhere it is not known. */
import { existsSync, readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = 100;
const isKnown = existsSync("/proc/self/stat");

interface ProcessTimes {
  readonly parent: number;
  readonly own: number;
  /** Of its children that have ended. */
  readonly endedChildren: number;
}

/** Undefined when the process is gone. */
function timesOf(pid: number | "self"): ProcessTimes | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ").map(Number) ?? [];
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15);
    const seconds = (ticks: number) => ticks / ticksPerSecond;
    return {
      parent: fields[1] ?? 0,
      own: seconds(user + system),
      endedChildren: seconds(childUser + childSystem),
    };
  } catch {
    return undefined;
  }
}

/** Of this process and of those that it started and that have ended. */
export function ownSeconds(): number | undefined {
  const times = isKnown ? timesOf("self") : undefined;
  return times && times.own + times.endedChildren;
}

/** Of a PostgreSQL: its first process and all that were started by it, ended or not. */
export function serverSeconds(postmaster: number): number | undefined {
  const times = isKnown ? timesOf(postmaster) : undefined;
  if (!times) return undefined;
  const living = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => timesOf(Number(name)))
    .filter((other) => other?.parent === postmaster);
  return living.reduce((sum, other) => sum + (other?.own ?? 0), times.own + times.endedChildren);
}
