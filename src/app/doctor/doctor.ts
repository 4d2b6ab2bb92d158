import { toTallymanError } from "../../errors/index.ts";
import type { Tallyman } from "../tallyman.ts";
import { checkClock } from "./check-clock.ts";
import {
  checkBatchCounters,
  checkCommands,
  checkCommandTables,
  checkLostCommands,
} from "./check-commands.ts";
import { checkConnections } from "./check-connections.ts";
import { checkDatabase } from "./check-database.ts";
import { checkDisk } from "./check-disk.ts";
import { checkJobs } from "./check-jobs.ts";
import { checkMigrations } from "./check-migrations.ts";
import { checkNode } from "./check-node.ts";
import { checkLeader, checkSchedulerWorkers, checkSegments } from "./check-scheduler.ts";
import { checkServices } from "./check-services.ts";
import { type Finding, failure } from "./finding.ts";

type Check = (tallyman: Tallyman) => Promise<Finding> | Finding;

/** Every check, in the order in which they are shown. */
const checks: readonly (readonly [string, Check])[] = [
  ["node", checkNode],
  ["database", checkDatabase],
  ["clock", checkClock],
  ["migrations", checkMigrations],
  ["disk", checkDisk],
  ["connections", checkConnections],
  ["commands", checkCommands],
  ["command tables", checkCommandTables],
  ["batch counters", checkBatchCounters],
  ["lost commands", checkLostCommands],
  ["services", checkServices],
  ["scheduler leader", checkLeader],
  ["scheduler workers", checkSchedulerWorkers],
  ["segments", checkSegments],
  ["jobs", checkJobs],
];

/** What {@link doctor} found. */
export interface Diagnosis {
  /** True when nothing failed; warnings may be there. */
  readonly healthy: boolean;
  readonly findings: readonly Finding[];
}

/**
 * Examines an opened Tallyman: each check says what it found and, unless all is well, what to do.
 * Read-only. A check that fails itself is a finding, not an error.
 *
 * @example
 * ```ts
 * const { healthy, findings } = await doctor(tallyman);
 * ```
 */
export async function doctor(tallyman: Tallyman): Promise<Diagnosis> {
  const findings: Finding[] = [];
  for (const [name, check] of checks) {
    findings.push(await Promise.resolve(check(tallyman)).catch((error) => brokenCheck(name, error)));
  }
  return { healthy: findings.every((finding) => finding.status !== "failure"), findings };
}

/** The diagnosis when no database could be opened: what can be said without one, and why. */
export async function diagnoseFailure(error: unknown): Promise<Diagnosis> {
  return { healthy: false, findings: [checkNode(), brokenCheck("database", error)] };
}

function brokenCheck(name: string, error: unknown): Finding {
  const { message, entry } = toTallymanError(error);
  return failure(name, message, entry.remedy);
}
