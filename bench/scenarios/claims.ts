import { createBatchCoordinator } from "../../src/coordination/index.ts";
import { claimBatches } from "../../src/coordination/sql/claim-batches.ts";
import { endClaims } from "../../src/coordination/sql/claims.ts";
import { type Database, ensureRunSchema } from "../../src/database/index.ts";
import { pgbenchMissing, runPgbench, textOf, withValues } from "../harness/pgbench.ts";
import type { Contender, Scenario } from "../harness/scenario.ts";

interface Size {
  readonly seconds: number;
}

const runId = "claims";
const instances = 4;
const filesPerStatement = 500;

/** Claims and completes files until the time is over; returns how many. */
async function claimUntil(database: Database, instance: number, untilMs: number): Promise<number> {
  const created = createBatchCoordinator(database);
  created.setSimulationRun(runId);
  const coordinator = created.setIndexerClass("Bench");
  let files = 0;
  while (performance.now() < untilMs) {
    const batches = Array.from({ length: filesPerStatement }, (_, i) => ({
      filename: `batch_${instance}_${files + i}`,
      tickStart: files + i,
      tickEnd: files + i,
    }));
    await coordinator.tryClaimMany(batches);
    await coordinator.markCompletedMany(batches.map((batch) => batch.filename));
    files += filesPerStatement;
  }
  return files;
}

const ours: Contender<Size> = {
  name: "Tallyman",
  kind: "ours",
  settings: `one process, ${instances} instances, ${filesPerStatement} files per statement`,
  async run({ database, size, measure }) {
    await ensureRunSchema(database, runId);
    return measure(async () => {
      const untilMs = performance.now() + size.seconds * 1_000;
      const work = Array.from({ length: instances }, (_, instance) =>
        claimUntil(database, instance, untilMs),
      );
      return (await Promise.all(work)).reduce((sum, files) => sum + files, 0);
    });
  },
};

/** The two statements of a claim and a completion, as the coordinator sends them. */
async function claimScript(schema: string): Promise<string> {
  const claimant = { indexerClass: "", instanceId: "", leaseMs: 0 };
  const claim = await textOf((executor) => claimBatches(executor, claimant, []));
  const complete = await textOf((executor) => endClaims(executor, "", "completed", []));
  const series = (expression: string) =>
    `ARRAY(SELECT ${expression} FROM generate_series(1, ${filesPerStatement}) i)::text`;
  const arrays = [
    `${series("'p_' || (:base + i)")} AS files`,
    `${series("i")} AS ticks`,
    `${series("1")} AS versions`,
  ];
  return [
    "\\set base random(1, 1000000000)",
    `SELECT ${arrays.join(", ")} \\gset`, // as parameters, like ours: the planner then knows how long they are
    `${withValues(claim, ["'Limit'::text", "'p'", "60000", ":files", ":ticks", ":ticks"])};`,
    `${withValues(complete, ["'Limit'::text", "'completed'", "NULL", ":files", ":versions"])};`,
  ]
    .join("\n")
    .replaceAll("sim.", `${schema}.`);
}

const limit: Contender<Size> = {
  name: "pgbench",
  kind: "limit",
  settings: `our own two statements, ${filesPerStatement} files each, ${instances} clients`,
  missing: pgbenchMissing,
  async run({ database, url, size, measure }) {
    const script = await claimScript(await ensureRunSchema(database, runId));
    return measure(async () => {
      const { times, seconds } = await runPgbench({ url, script, clients: instances, ...size });
      return { items: times * filesPerStatement, seconds };
    });
  },
};

export const claims: Scenario<Size> = {
  name: "claims",
  what: "Batch files claimed and completed in the ledger.",
  sizes: { quick: { seconds: 5 }, full: { seconds: 15 } },
  warmUp: { seconds: 1 },
  figures: { perSecond: "files/s" },
  goals: [
    { figure: "perSecond", atLeast: 20_000 },
    { against: "pgbench", ratio: 0.6 },
  ],
  contenders: [ours, limit],
};
