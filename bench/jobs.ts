/**
 * Fires of jobs on a PostgreSQL of its own, durable as in production, by four scheduler workers in this process:
 *
 *   node --import tsx bench/jobs.ts [--jobs 1000000] [--seconds 15] [scenario …]
 *
 * Scenarios: interval (with the same statement through pgbench in the same run, and their ratio), cron (patterns
 * that jobs share, then a pattern for each job), idle (nothing is due: CPU of workers and server in percent of a core).
 * The machine decides the rates; compare only what one run printed.
 */
import { parseArgs } from "node:util";
import { configureLogging } from "../src/runtime/index.ts";
import { benchSettings, startBenchServer } from "./harness/server.ts";
import { cronFires, idleScan, intervalFires } from "./jobs/scenarios.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { jobs: { type: "string", default: "1000000" }, seconds: { type: "string", default: "15" } },
});
const scenarios = { interval: intervalFires, cron: cronFires, idle: idleScan };
const chosen = positionals.length > 0 ? positionals : Object.keys(scenarios);

configureLogging({ level: "warn" });
console.log("settings", JSON.stringify(benchSettings));
for (const name of chosen) {
  const scenario = scenarios[name as keyof typeof scenarios];
  if (!scenario) throw new Error(`Unknown scenario ${name}; known: ${Object.keys(scenarios).join(", ")}`);
  await using server = await startBenchServer();
  const result = await scenario({ ...server, jobs: Number(values.jobs), seconds: Number(values.seconds) });
  console.log(name, JSON.stringify(result));
}
