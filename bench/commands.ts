/**
 * The command bus on a PostgreSQL of its own, batch tracking and audit on:
 *
 *   node --import tsx bench/commands.ts [--count 100000] [--runs 3] [scenario …]
 *
 * Scenarios: enqueue, copy (enqueue against COPY of the same rows), drain, pgbench (the drain's own SQL without our
 * code; needs the program), hot (one batch against many, 8 workers), latency, memory; and, only when they are named,
 * backlog and history (`--count` commands waiting, or finished) and pinned (two minutes).
 * The machine decides the rates; compare only what one run printed.
 */
import { parseArgs } from "node:util";
import { CommandBus } from "../src/commands/index.ts";
import { Database, EmbeddedServer, migrate } from "../src/database/index.ts";
import { configureLogging } from "../src/runtime/index.ts";
import { backlog, copy, history, pinned } from "./commands/growth.ts";
import { pgbenchDrain } from "./commands/pgbench.ts";
import { drain, enqueue, hotBatch, pickUpLatency, workerMemory } from "./commands/scenarios.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: "string", default: "100000" },
    runs: { type: "string", default: "3" },
    url: { type: "string" },
  },
});
const count = Number(values.count);
const runs = Number(values.runs);
const usual = {
  enqueue,
  copy,
  drain,
  pgbench: pgbenchDrain,
  hot: hotBatch,
  latency: pickUpLatency,
  memory: workerMemory,
};
const scenarios = { ...usual, backlog, history, pinned };
const chosen = positionals.length > 0 ? positionals : Object.keys(usual);

configureLogging({ level: "warn" });
const settings = { shared_buffers: "512MB", max_wal_size: "4GB" };
const server = values.url
  ? undefined
  : await EmbeddedServer.attach({ folder: ".tallyman/bench-postgres", settings });
const url = values.url ?? server?.url() ?? "";
try {
  for (const name of chosen) {
    const scenario = scenarios[name as keyof typeof scenarios];
    if (!scenario) throw new Error(`Unknown scenario ${name}; known: ${Object.keys(scenarios).join(", ")}`);
    for (let run = 0; run < runs; run++) {
      await using database = await Database.connect({ url }, server);
      await database.query("DROP SCHEMA IF EXISTS tallyman CASCADE");
      await migrate(database);
      await using bus = new CommandBus(database);
      console.log(name, JSON.stringify(await scenario({ bus, database, url, count })));
    }
  }
} finally {
  await server?.close();
}
