import { selectLostCommands } from "../../commands/index.ts";
import type { Tallyman } from "../tallyman.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";

const oldestWarningMs = 15 * 60_000;
const xminAgeWarning = 1_000_000;
const deadShareWarning = 0.5;
const deadRowsMin = 100_000;

/** Backlog and age: is anybody working? */
export async function checkCommands({ commands }: Tallyman): Promise<Finding> {
  const { ready, waiting, inProgress, inTroubleshooting, oldestReadyMs, pausedDomains } =
    await commands.stats();
  const oldest = oldestReadyMs === null ? "" : `, the oldest for ${Math.round(oldestReadyMs / 1000)} s`;
  const found = `${ready} ready${oldest}, ${waiting} waiting, ${inProgress} in progress, ${inTroubleshooting} in troubleshooting`;
  if (pausedDomains.length > 0) {
    return warning(
      "commands",
      `${found}; paused: ${pausedDomains.join(", ")}`,
      "Resume the domain when it may go on.",
    );
  }
  if (inTroubleshooting > 0) {
    return warning(
      "commands",
      found,
      "Look at them with 'tallyman tsq groups', then retry, complete or cancel them.",
    );
  }
  if ((oldestReadyMs ?? 0) <= oldestWarningMs) return ok("commands", found);
  return warning(
    "commands",
    found,
    "Start (more) workers for their domains: 'tallyman worker --handlers …'.",
  );
}

/** Dead rows slow claims down, and an old snapshot keeps them alive. */
export async function checkCommandTables({ commands }: Tallyman): Promise<Finding> {
  const { xminAge, deadTuples, liveTuples } = await commands.stats();
  const found = `${deadTuples} dead of ${deadTuples + liveTuples} rows, the oldest snapshot is ${xminAge} transactions old`;
  if (xminAge > xminAgeWarning) {
    return warning(
      "command tables",
      found,
      "A transaction is open for long: find it in pg_stat_activity and end it.",
    );
  }
  if (deadTuples > deadRowsMin && deadTuples > (deadTuples + liveTuples) * deadShareWarning) {
    return warning(
      "command tables",
      found,
      "Autovacuum falls behind: check that it runs, or VACUUM the table.",
    );
  }
  return ok("command tables", found);
}

/** The proof that every batch is counted right. */
export async function checkBatchCounters({ commands }: Tallyman): Promise<Finding> {
  const { batches, miscounts } = await commands.recount();
  if (miscounts.length === 0)
    return ok("batch counters", `the counters of ${batches} batches equal a recount`);
  const [first] = miscounts;
  return failure(
    "batch counters",
    `${miscounts.length} of ${batches} batches are miscounted, e.g. ${first?.batchId}: ${JSON.stringify(first?.stored)} stored, ${JSON.stringify(first?.counted)} counted`,
    "Something wrote to the tables beside Tallyman: compare the batch's audit with its commands.",
  );
}

/** The proof that every accepted command has ended, waits, is held or is in troubleshooting. */
export async function checkLostCommands({ database }: Tallyman): Promise<Finding> {
  const { count, example } = await selectLostCommands(database);
  if (count === 0)
    return ok("lost commands", "every command that has not ended is where somebody will find it");
  return failure(
    "lost commands",
    `${count} commands have not ended, but nobody will get them: they are in no queue and under no lease, e.g. ${example?.commandId} of domain '${example?.domain}'`,
    "Something wrote to the tables beside Tallyman: look at the command's history, and send it again under another id.",
  );
}
