import { Command } from "commander";
import { type BatchMetadata, isFinished } from "../commands/index.ts";
import { exitCodes } from "../errors/index.ts";
import { describeBatch, requireBatch } from "./batch-status.ts";
import { withTallyman } from "./open.ts";
import { type GlobalOptions, printResult, printStep } from "./output.ts";

const barWidth = 30;

/** `tallyman batch watch`: follows a batch to its end. */
export function batchWatchCommand(): Command {
  return new Command("watch")
    .description("follow a batch until it has completed; exit code 4 when it ends with failures")
    .argument("<batchId>")
    .addHelpText("after", "\nExample:\n  $ tallyman batch watch 0190e5a2-… && echo all done")
    .action(async (batchId: string, _options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const last = await withTallyman(options, async ({ commands }) => {
        let batch = await requireBatch(commands, batchId);
        for await (batch of commands.watchBatch(batch.domain, batchId)) showProgress(options, batch);
        return batch;
      });
      printResult(options, last, describeBatch(last));
      if (last.status === "COMPLETED_WITH_FAILURES") process.exitCode = exitCodes.batchEndedWithFailures;
    });
}

/** One line that is drawn over on a terminal; elsewhere a line per change would be noise. */
function showProgress(options: GlobalOptions, batch: BatchMetadata): void {
  if (options.json || !process.stderr.isTTY) {
    if (isFinished(batch)) printStep(options, progressBar(batch));
    return;
  }
  process.stderr.write(`\r\u001b[K${progressBar(batch)}${isFinished(batch) ? "\n" : ""}`);
}

/** The batch as a bar with its counts. */
export function progressBar(batch: BatchMetadata): string {
  const { totalCount, completedCount, failedCount, canceledCount, inTroubleshootingCount } = batch;
  const ended = completedCount + failedCount + canceledCount;
  const share = totalCount === 0 ? 1 : ended / totalCount;
  const filled = Math.floor(share * barWidth);
  const bar = `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`;
  const blocked = inTroubleshootingCount > 0 ? `, ${inTroubleshootingCount} in troubleshooting` : "";
  const failed = failedCount + canceledCount > 0 ? `, ${failedCount} failed, ${canceledCount} canceled` : "";
  return `${bar} ${Math.floor(share * 100)}%  ${ended}/${totalCount}${failed}${blocked}`;
}
