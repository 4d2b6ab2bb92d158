import { hostname } from "node:os";
import { Command } from "commander";
import type { Config, Tallyman } from "../app/index.ts";
import { runUntilSignal } from "../runtime/index.ts";
import { configuredServer, withServerFlags } from "./api-server.ts";
import { interruptSignals } from "./interrupt.ts";
import { openConfig, openTallyman } from "./open.ts";
import { type GlobalOptions, printResult } from "./output.ts";

/** A term lasts three renewals, so that two may be lost. */
const renewShare = 0.3;

interface Options extends GlobalOptions {
  readonly port?: string;
  readonly host?: string;
  readonly id?: string;
  readonly advertise?: string;
}

/** `tallyman coordinator`: campaigns, leads when elected, and serves the HTTP API. */
export function coordinatorCommand(): Command {
  return withServerFlags(new Command("coordinator"))
    .description("run a scheduler coordinator with its HTTP API until Ctrl+C; several may run, one leads")
    .option("--id <name>", "unique id of this coordinator (default: host name and port)")
    .option(
      "--advertise <host>",
      "address that other coordinators reach this one by (default: --host, or the host name)",
    )
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman coordinator --port 8082\n  $ tallyman coordinator --port 8092        a second one, which stands by\n  $ curl http://localhost:8082/api/coordinator/leader",
    )
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const config = await openConfig(options);
      // Not withTallyman: an interruption must not close the database before the coordinator has resigned.
      await using tallyman = await openTallyman(options, config);
      await runCoordinator(tallyman, config, options);
    });
}

/** The address that others are told: a server that listens everywhere is reached by this machine's name. */
function reachableName(host: string): string {
  return host === "0.0.0.0" || host === "::" ? hostname() : host;
}

async function runCoordinator(tallyman: Tallyman, config: Config, options: Options): Promise<void> {
  const { heartbeatInterval, heartbeatTimeout, leaderElectionInterval, leaderLease } =
    config.scheduler.coordinator;
  await using server = configuredServer(tallyman, config);
  await server.start();
  const coordinator = tallyman.scheduler.coordinator({
    coordinatorId: options.id ?? `${hostname()}-${server.port}`,
    host: options.advertise ?? reachableName(server.host),
    port: server.port,
    heartbeatIntervalMs: heartbeatInterval,
    heartbeatTimeoutMs: heartbeatTimeout,
    leaderElectionIntervalMs: leaderElectionInterval,
    leaseMs: leaderLease,
    renewMs: Math.max(1, Math.floor(leaderLease * renewShare)),
  });
  tallyman.metrics.register("service", "coordinator", coordinator);
  const { coordinatorId } = coordinator;
  const { url } = server;
  printResult(
    options,
    { coordinatorId, url },
    `Coordinator ${coordinatorId} listens on ${url}. Ctrl+C stops.`,
  );
  await runUntilSignal([server, coordinator], { signals: interruptSignals });
}
