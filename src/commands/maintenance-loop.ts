import type { ErrorLog } from "../monitoring/index.ts";
import { logger } from "../runtime/index.ts";
import { BackgroundLoop } from "./background-loop.ts";
import { isDatabaseAway } from "./failure.ts";
import type { Maintenance } from "./maintenance.ts";
import type { WorkerOptions } from "./worker-options.ts";

const log = logger("commands.maintenance");

const pruneIntervalMs = 60_000;

/** A worker's share of the maintenance, beside its claims: neither waits for the other. */
export function maintainUntilStopped(
  maintenance: Maintenance,
  options: WorkerOptions,
  errors: ErrorLog,
): BackgroundLoop {
  const { clock, maintenanceIntervalMs, lostLeasesMax, retention } = options;
  let prunedMs = Number.NEGATIVE_INFINITY;
  let failures = 0;
  const maintain = async (signal: AbortSignal) => {
    await maintenance.runOnce(lostLeasesMax, signal);
    if (!retention || clock.monotonicMs() - prunedMs < pruneIntervalMs) return;
    prunedMs = clock.monotonicMs();
    await maintenance.prune(retention, signal);
  };
  return new BackgroundLoop(clock, maintenanceIntervalMs, async (signal) => {
    try {
      await maintain(signal);
      failures = 0;
    } catch (error) {
      const details = `Domain: ${options.domain}, Error: ${String(error)}`;
      errors.add({ code: "COMMAND_MAINTENANCE_FAILED", message: "Failed to maintain commands", details });
      // Claims tell of a database that is away.
      if (++failures === 1 && !isDatabaseAway(error))
        log.warn(`Commands could not be maintained, trying again: ${String(error)}`);
    }
  });
}
