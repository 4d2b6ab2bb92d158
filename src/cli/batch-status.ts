import { Command } from "commander";
import type { BatchMetadata, CommandBus } from "../commands/index.ts";
import { TallymanError } from "../errors/index.ts";
import { withTallyman } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

/** `tallyman batch status`: one batch. */
export function batchStatusCommand(): Command {
  return new Command("status")
    .description("show a batch and its counts")
    .argument("<batchId>")
    .addHelpText("after", "\nExample:\n  $ tallyman batch status 0190e5a2-… --json | jq .completedCount")
    .action(async (batchId: string, _options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const batch = await withTallyman(options, ({ commands }) => requireBatch(commands, batchId));
      printResult(options, batch, describeBatch(batch));
    });
}

/** @throws TallymanError BATCH_NOT_FOUND */
export async function requireBatch(commands: CommandBus, batchId: string): Promise<BatchMetadata> {
  const batch = await commands.findBatch(batchId);
  if (batch) return batch;
  throw new TallymanError(
    "BATCH_NOT_FOUND",
    `There is no batch ${batchId}. List them with 'tallyman batch list --domain …'.`,
  );
}

/** The batch for people. */
export function describeBatch(batch: BatchMetadata): string {
  const time = (date: Date | null) => date?.toISOString() ?? "–";
  return alignColumns([
    ["batch", batch.batchId],
    ["domain", batch.domain],
    ["name", batch.name ?? "–"],
    ["status", `${batch.status}${batch.isSealed ? "" : " (open)"}${batch.canceledAt ? " (cancelled)" : ""}`],
    ["completed", `${batch.completedCount} of ${batch.totalCount}`],
    ["failed", `${batch.failedCount}`],
    ["canceled", `${batch.canceledCount}`],
    ["in troubleshooting", `${batch.inTroubleshootingCount}`],
    ["created", time(batch.createdAt)],
    ["started", time(batch.startedAt)],
    ["ended", time(batch.completedAt)],
  ]);
}
