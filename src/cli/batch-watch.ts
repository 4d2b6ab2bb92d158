import { Command } from "commander";
import type { Caller } from "../client/index.ts";
import { type BatchMetadata, isFinished } from "../commands/index.ts";
import { exitCodes } from "../errors/index.ts";
import { sleep } from "../runtime/index.ts";
import { type Batch, describeBatch, getBatch } from "./batch-status.ts";
import { interruption } from "./interrupt.ts";
import { withCaller } from "./open.ts";
import { type GlobalOptions, printProgress, printResult } from "./output.ts";

const barWidth = 30;
const lookIntervalMs = 250;

type Progress = Pick<
  BatchMetadata,
  "totalCount" | "completedCount" | "failedCount" | "canceledCount" | "inTroubleshootingCount"
>;

/** `tallyman batch watch`: follows a batch to its end. */
export function batchWatchCommand(): Command {
  return new Command("watch")
    .description("follow a batch until it has completed; exit code 4 when it ends with failures")
    .argument("<batchId>")
    .addHelpText("after", "\nExample:\n  $ tallyman batch watch 0190e5a2-… && echo all done")
    .action(async (batchId: string, _options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const last = await withCaller(options, (caller) => follow(caller, batchId, options));
      printResult(options, last, describeBatch(last));
      if (last.status === "COMPLETED_WITH_FAILURES") process.exitCode = exitCodes.batchEndedWithFailures;
    });
}

async function follow(caller: Caller, batchId: string, options: GlobalOptions): Promise<Batch> {
  for (;;) {
    const batch = await getBatch(caller, batchId);
    printProgress(options, progressBar(batch), isFinished(batch));
    if (isFinished(batch)) return batch;
    await sleep(lookIntervalMs, interruption);
  }
}

/** The batch as a bar with its counts. */
export function progressBar(batch: Progress): string {
  const { totalCount, completedCount, failedCount, canceledCount, inTroubleshootingCount } = batch;
  const ended = completedCount + failedCount + canceledCount;
  const share = totalCount === 0 ? 1 : ended / totalCount;
  const filled = Math.floor(share * barWidth);
  const bar = `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`;
  const blocked = inTroubleshootingCount > 0 ? `, ${inTroubleshootingCount} in troubleshooting` : "";
  const failed = failedCount + canceledCount > 0 ? `, ${failedCount} failed, ${canceledCount} canceled` : "";
  return `${bar} ${Math.floor(share * 100)}%  ${ended}/${totalCount}${failed}${blocked}`;
}
