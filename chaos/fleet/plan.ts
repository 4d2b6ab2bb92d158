/** The three engines; a run may be limited to some of them. */
export const parts = ["commands", "scheduler", "pipeline"] as const;
export type Part = (typeof parts)[number];

/** What a process of the fleet does. */
export type Role =
  | "command-worker"
  | "command-producer"
  | "coordinator"
  | "scheduler-worker"
  | "tick-producer"
  | "indexer";

/** A place in the fleet: whatever process has it now, there is one. */
export interface Slot {
  readonly name: string;
  readonly role: Role;
  /** Words that tell it from others of its role. */
  readonly args: readonly string[];
}

/** A run of ticks that the pipeline part produces and indexes. */
export interface RunPlan {
  readonly runId: string;
  readonly samplingInterval: number;
  /** The last sampled tick. */
  readonly lastTick: number;
  readonly codec: "none" | "brotli";
}

/** How many processes there are: the usual number, or the fewest that can still get in each other's way. */
export type FleetSize = "full" | "small";

/** Names that the children, the faults and the judge share. They are the harness's, not the product's. */
export const names = {
  workDomain: "work",
  jobDomain: "jobs",
  replyQueue: "chaos-replies",
  batchTopic: "batch-topic",
  metadataTopic: "metadata-topic",
  /** The children make no new input once this file is in the run's folder. */
  quietFile: "quiet",
  keylessIndexer: "KeylessIndexer",
  keyedIndexer: "EnvironmentIndexer",
} as const;

/** A producer writes its next file within this time, unless it is restarted. */
export const nextFileMs = 2_500;

/** A producer that overloads the others makes this many times its usual input, for this long. */
export const overload = { factor: 10, lastsMs: 4_000 } as const;

const numbered = (role: Role, count: number, argsOf: (number: number) => readonly string[] = () => []) =>
  Array.from({ length: count }, (_, index) => ({
    name: `${role}-${index + 1}`,
    role,
    args: argsOf(index + 1),
  }));

/** One run of every tick, stored as it is; in a full fleet another of every fifth, compressed. */
export function runPlans(faultMs: number, size: FleetSize): RunPlan[] {
  const sampledTicks = Math.max(200, Math.round((faultMs / 1_000) * ticksPerSecond));
  const all: readonly RunPlan[] = [
    { runId: "chaos-a", samplingInterval: 1, lastTick: sampledTicks - 1, codec: "none" },
    { runId: "chaos-b", samplingInterval: 5, lastTick: (sampledTicks - 1) * 5, codec: "brotli" },
  ];
  return all.slice(0, size === "full" ? 2 : 1);
}

/** Sampled ticks that each run has per second of faults: about as many as its producer writes. */
const ticksPerSecond = 80;

/** The processes that the parts need. Jobs are fired as commands, so the scheduler needs command workers. */
export function slotsOf(wanted: readonly Part[], runs: readonly RunPlan[], size: FleetSize): Slot[] {
  const has = (part: Part) => wanted.includes(part);
  const workers = size === "full" ? 3 : 2;
  return [
    ...(has("scheduler") ? numbered("coordinator", 2) : []),
    ...(has("scheduler") ? numbered("scheduler-worker", workers) : []),
    ...(has("commands") || has("scheduler") ? numbered("command-worker", has("commands") ? workers : 1) : []),
    ...(has("commands") || has("scheduler") ? numbered("command-producer", 1, () => wanted) : []),
    ...(has("pipeline") ? numbered("tick-producer", runs.length, (number) => [`${number - 1}`]) : []),
    ...(has("pipeline")
      ? numbered("indexer", runs.length * 2, (number) => [`${(number - 1) % runs.length}`])
      : []),
  ];
}
