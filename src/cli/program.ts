import { readFileSync } from "node:fs";
import { Command } from "commander";
import { auditCommand } from "./audit.ts";
import { batchCommand } from "./batch.ts";
import { completionCommand } from "./completion.ts";
import { configCommand } from "./config.ts";
import { coordinatorCommand } from "./coordinator.ts";
import { demoCommand } from "./demo.ts";
import { doctorCommand } from "./doctor.ts";
import { domainCommand } from "./domain.ts";
import { gapsCommand } from "./gaps.ts";
import { initCommand } from "./init.ts";
import { jobCommand } from "./job.ts";
import { leaderCommand } from "./leader.ts";
import { migrateCommand } from "./migrate.ts";
import { runCommand } from "./run.ts";
import { schedulerWorkerCommand } from "./scheduler-worker.ts";
import { segmentsCommand } from "./segments.ts";
import { sendCommand } from "./send.ts";
import { serviceCommand } from "./service.ts";
import { tokenCommand } from "./token.ts";
import { topicCommand } from "./topic.ts";
import { tsqCommand } from "./tsq.ts";
import { upCommand } from "./up.ts";
import { workerCommand } from "./worker.ts";
import { workersCommand } from "./workers.ts";

const exitCodeHelp = `
Exit codes: 0 ok, 1 error, 2 usage, 3 not found, 4 batch ended with failures, 5 migration pending,
6 database unreachable.

Examples:
  $ tallyman demo                                  see it work, on an embedded PostgreSQL
  $ tallyman init                                  write a commented tallyman.config.yaml
  $ tallyman doctor                                check everything, with remedies
  $ DATABASE_URL=postgres://… tallyman migrate     use a PostgreSQL of your own
  $ tallyman --url http://127.0.0.1:8082 batch list   ask a running server`;

/** The whole command tree. */
export function createProgram(): Command {
  const program = new Command("tallyman")
    .description(
      "Coordinates batches of work across a fleet of workers, on PostgreSQL; every item is accounted for.",
    )
    .version(packageVersion(), "-V, --version", "print the version")
    .option("--json", "print one JSON document on stdout")
    .option("--verbose", "show stack traces and debug logs")
    .option("--config <file>", "configuration file (default: tallyman.config.yaml when it is there)")
    .option(
      "--database-url <url>",
      "PostgreSQL to use instead of the embedded one; DATABASE_URL does the same",
    )
    .option(
      "--url <url>",
      "server to ask instead of a database, with the token in TALLYMAN_TOKEN; TALLYMAN_URL does the same",
    )
    .option("--schema <name>", "schema of Tallyman's tables")
    .option("--log-level <level>", "debug, info, warn or error")
    .addHelpText("after", exitCodeHelp)
    .showHelpAfterError("(add --help for more)")
    .exitOverride();
  const commands = [
    demoCommand(),
    initCommand(),
    migrateCommand(),
    doctorCommand(),
    upCommand(),
    serviceCommand(),
    sendCommand(),
    batchCommand(),
    tsqCommand(),
    workerCommand(),
    configCommand(),
    gapsCommand(),
    runCommand(),
    topicCommand(),
    jobCommand(),
    schedulerWorkerCommand(),
    coordinatorCommand(),
    leaderCommand(),
    workersCommand(),
    segmentsCommand(),
    tokenCommand(),
    domainCommand(),
    auditCommand(),
    completionCommand(program),
  ];
  for (const command of commands) program.addCommand(inherit(command));
  return program;
}

/** Subcommands throw like the program does, instead of ending the process. */
function inherit(command: Command): Command {
  for (const child of command.commands) inherit(child);
  return command.exitOverride().showHelpAfterError("(add --help for more)");
}

function packageVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
