import { Command } from "commander";
import type { BatchStatus } from "../commands/index.ts";
import { type AuditedOptions, audited } from "./audited.ts";
import { batchCreateCommand } from "./batch-create.ts";
import { type Batch, batchStatusCommand, describeBatch, getBatch } from "./batch-status.ts";
import { batchWatchCommand } from "./batch-watch.ts";
import { defaultDomain, given, parseNumber } from "./command-options.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

/** `tallyman batch`: batches of commands. */
export function batchCommand(): Command {
  return new Command("batch")
    .description("create, look at, seal and cancel batches of commands")
    .addCommand(batchCreateCommand())
    .addCommand(batchStatusCommand())
    .addCommand(listCommand())
    .addCommand(batchWatchCommand())
    .addCommand(audited(sealCommand()))
    .addCommand(audited(cancelCommand()));
}

interface ListOptions extends GlobalOptions {
  readonly domain: string;
  readonly status?: BatchStatus;
  readonly limit: string;
  readonly cursor?: string;
}

function listCommand(): Command {
  return new Command("list")
    .description("list a domain's batches, newest first")
    .option("--domain <name>", "the domain", defaultDomain)
    .option("--status <status>", "PENDING, IN_PROGRESS, COMPLETED or COMPLETED_WITH_FAILURES")
    .option("--limit <n>", "batches at most, up to 1000", "20")
    .option("--cursor <batchId>", "go on after this batch")
    .addHelpText("after", "\nExample:\n  $ tallyman batch list --domain orders --status IN_PROGRESS")
    .action(async (_options: ListOptions, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>();
      const { domain, status, cursor } = options;
      const query = {
        domain,
        ...given({ status, cursor }),
        limit: parseNumber("--limit", options.limit),
      };
      const { items: batches } = await withCaller(options, (caller) =>
        caller.call("GET /api/batches", { query }),
      );
      printResult(
        options,
        batches,
        batches.length === 0 ? `Domain '${domain}' has no such batches.` : table(batches),
      );
    });
}

function table(batches: readonly Batch[]): string {
  const rows = batches.map((batch) => [
    batch.batchId,
    batch.status,
    `${batch.completedCount}/${batch.totalCount}`,
    `${batch.failedCount + batch.canceledCount}`,
    `${batch.inTroubleshootingCount}`,
    batch.createdAt,
    batch.name ?? "",
  ]);
  return alignColumns([["BATCH", "STATUS", "COMPLETED", "FAILED", "TSQ", "CREATED", "NAME"], ...rows]);
}

function sealCommand(): Command {
  return new Command("seal")
    .description("close a batch that was created with --open: it takes no more commands, and can complete")
    .argument("<batchId>")
    .addHelpText("after", "\nExample:\n  $ tallyman batch seal 0190e5a2-…")
    .action(async (batchId: string, _options: AuditedOptions, command: Command) => {
      const options = command.optsWithGlobals<AuditedOptions>();
      const batch = await withCaller(options, async (caller) => {
        await caller.call("POST /api/batches/:batchId/seal", { params: { batchId } });
        return getBatch(caller, batchId);
      });
      printResult(options, batch, `Sealed.\n\n${describeBatch(batch)}`);
    });
}

function cancelCommand(): Command {
  return new Command("cancel")
    .description("cancel what nobody has begun; the batch ends COMPLETED_WITH_FAILURES")
    .argument("<batchId>")
    .addHelpText("after", "\nExample:\n  $ tallyman batch cancel 0190e5a2-…")
    .action(async (batchId: string, _options: AuditedOptions, command: Command) => {
      const options = command.optsWithGlobals<AuditedOptions>();
      const { batch, canceled } = await withCaller(options, async (caller) => {
        const { canceled } = await caller.call("POST /api/batches/:batchId/cancel", { params: { batchId } });
        return { batch: await getBatch(caller, batchId), canceled };
      });
      printResult(options, { canceled, batch }, `Cancelled ${canceled} commands.\n\n${describeBatch(batch)}`);
    });
}
