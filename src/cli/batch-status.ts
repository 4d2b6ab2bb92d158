import { Command } from "commander";
import type { Api, Caller } from "../client/index.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

/** A batch as the API shows it. */
export type Batch = Api["GET /api/batches/:batchId"]["data"];

/** `tallyman batch status`: one batch. */
export function batchStatusCommand(): Command {
  return new Command("status")
    .description("show a batch and its counts")
    .argument("<batchId>")
    .addHelpText("after", "\nExample:\n  $ tallyman batch status 0190e5a2-… --json | jq .completedCount")
    .action(async (batchId: string, _options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const batch = await withCaller(options, (caller) => getBatch(caller, batchId));
      printResult(options, batch, describeBatch(batch));
    });
}

/** @throws TallymanError BATCH_NOT_FOUND */
export function getBatch(caller: Caller, batchId: string): Promise<Batch> {
  return caller.call("GET /api/batches/:batchId", { params: { batchId } });
}

/** The batch for people. */
export function describeBatch(batch: Batch): string {
  return alignColumns([
    ["batch", batch.batchId],
    ["domain", batch.domain],
    ["name", batch.name ?? "–"],
    ["status", `${batch.status}${batch.isSealed ? "" : " (open)"}${batch.canceledAt ? " (cancelled)" : ""}`],
    ["completed", `${batch.completedCount} of ${batch.totalCount}`],
    ["failed", `${batch.failedCount}`],
    ["canceled", `${batch.canceledCount}`],
    ["in troubleshooting", `${batch.inTroubleshootingCount}`],
    ["created", batch.createdAt],
    ["started", batch.startedAt ?? "–"],
    ["ended", batch.completedAt ?? "–"],
  ]);
}
