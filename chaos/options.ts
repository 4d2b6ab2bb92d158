import { parseArgs } from "node:util";
import { type FleetSize, type Part, parts } from "./fleet/plan.ts";

/** What a chaos run is asked for. */
export interface ChaosOptions {
  readonly minutes: number;
  readonly seed: number;
  /** Only these faults; empty: all. */
  readonly faults: readonly string[];
  readonly parts: readonly Part[];
  readonly topics: "postgres" | "nats";
  /** Time between two faults, on average. */
  readonly everyMs: number;
  /** How long everything may take to come to rest. */
  readonly settleMs: number;
  readonly size: FleetSize;
  /** File with a bug that is planted in the product. */
  readonly patch: string | undefined;
  /** Whether database, logs and schedule of a run that failed stay. */
  readonly keep: boolean;
}

/** What the command line asks for: a run, the mutants, or the report on results. */
export type Task =
  | {
      readonly kind: "run";
      readonly options: ChaosOptions;
      readonly resultFile: string | undefined;
      readonly json: boolean;
    }
  /** Names of mutants; none: all. */
  | {
      readonly kind: "mutants";
      readonly names: readonly string[];
      readonly resultFile: string | undefined;
    }
  | { readonly kind: "report"; readonly resultFiles: readonly string[] };

export const usage = `npm run chaos -- [options]
  --minutes N          how long faults strike (default 1)
  --seed S             the same seed strikes the same targets in the same order (default: the time)
  --fault a,b          only these faults
  --parts a,b          only these: ${parts.join(", ")}
  --topics T           postgres (default) or nats
  --every MS           time between two faults on average (default 1000)
  --settle SECONDS     how long everything may take to come to rest (default 90)
  --result FILE        where the result is written as JSON
  --json               the result on standard output as JSON
  --mutants [a,b]      plant these bugs, or all, one after the other: each must turn the run red
  --report FILE…       write docs/reliability.md from result files`;

/** Every option is a text, or a switch; what it means is found out below. */
const argumentTypes = {
  minutes: { type: "string", default: "1" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  fault: { type: "string", default: "" },
  parts: { type: "string", default: parts.join(",") },
  topics: { type: "string", default: "postgres" },
  every: { type: "string", default: "1000" },
  settle: { type: "string", default: "90" },
  result: { type: "string" },
  json: { type: "boolean", default: false },
  mutants: { type: "boolean", default: false },
  report: { type: "boolean", default: false },
} as const;

/** @throws Error that says what is wrong with the arguments */
export function parseTask(args: readonly string[]): Task {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: argumentTypes,
  });
  if (values.report) return { kind: "report", resultFiles: positionals };
  if (values.mutants)
    return { kind: "mutants", names: words(positionals.join(",")), resultFile: values.result };
  if (positionals.length > 0) throw new Error(`What is '${positionals[0]}'?`);
  const { topics } = values;
  if (topics !== "postgres" && topics !== "nats") throw new Error("--topics is postgres or nats.");
  const options: ChaosOptions = {
    minutes: positive("minutes", values.minutes),
    seed: positive("seed", values.seed),
    faults: words(values.fault),
    parts: words(values.parts).map(partNamed),
    topics,
    everyMs: positive("every", values.every),
    settleMs: positive("settle", values.settle) * 1_000,
    size: "full",
    patch: undefined,
    keep: true,
  };
  return { kind: "run", options, resultFile: values.result, json: values.json };
}

function words(text: string): string[] {
  return text.split(",").filter((word) => word !== "");
}

function partNamed(name: string): Part {
  const part = parts.find((one) => one === name);
  if (!part) throw new Error(`There is no part '${name}'; there are ${parts.join(", ")}.`);
  return part;
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (number > 0) return number;
  throw new Error(`--${name} must be a number above 0, not '${text}'.`);
}
