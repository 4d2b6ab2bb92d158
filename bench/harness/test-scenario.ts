import type { Machine } from "./machine.ts";
import type { Result } from "./results.ts";
import type { AnyScenario, Contender } from "./scenario.ts";

function contender(name: string, kind: Contender<unknown>["kind"]): Contender<unknown> {
  const run = () => Promise.reject(new Error("not measured in tests"));
  return { name, kind, settings: `settings of ${name}`, run };
}

/** A scenario with one contender of each kind. */
export function testScenario(changes: Partial<AnyScenario> = {}): AnyScenario {
  return {
    name: "race",
    what: "Who is first.",
    sizes: { quick: { laps: 1 }, full: { laps: 10 } },
    figures: { perSecond: "laps/s", p99Ms: "p99 ms" },
    goals: [],
    contenders: [contender("we", "ours"), contender("they", "peer"), contender("light", "limit")],
    ...changes,
  };
}

const machine: Machine = {
  processor: "A processor",
  cores: 2,
  memoryGigabytes: 4,
  system: "Linux",
  load: 0.1,
  versions: { node: "v20" },
  postgresSettings: { fsync: "on" },
};

/** Two runs, in which we do 100 and 200 laps a second, they 50 and 50, and light 1,000; light has no delay. */
export function testResult(changes: Partial<Result> = {}): Result {
  const sample = (perSecond: number, p99Ms: number) => ({ items: 1, seconds: 1, perSecond, p99Ms });
  return {
    scenario: "race",
    size: "full",
    sizeValues: { laps: 10 },
    finishedAt: "2026-01-01T00:00:00.000Z",
    machine,
    samples: {
      we: [sample(100, 40), sample(200, 60)],
      they: [sample(50, 70), sample(50, 90)],
      light: [sample(1_000, 1), sample(1_000, 1)],
    },
    settings: { we: "settings of we", they: "settings of they" },
    missing: {},
    ...changes,
  };
}
