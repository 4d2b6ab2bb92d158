import { Command } from "commander";
import type { AuditedOptions } from "./audited.ts";
import { given } from "./command-options.ts";
import { withCaller } from "./open.ts";
import { printResult } from "./output.ts";

interface Options extends AuditedOptions {
  readonly indexerClass: string;
  readonly topic?: string;
  readonly group?: string;
}

/** `tallyman run reindex`: an indexer's work on a run from the beginning. */
export function reindexCommand(): Command {
  return new Command("reindex")
    .description("empty an indexer's tables of a run and let it index everything again")
    .argument("<runId>", "the run")
    .requiredOption("--indexer-class <name>", "class of the indexer, as 'tallyman gaps' shows it")
    .option("--topic <name>", "topic of its announcements; needed by an indexer without a ledger")
    .addHelpText(
      "after",
      "\nExample:\n  $ tallyman run reindex 20251006-run --indexer-class EnvironmentIndexer",
    )
    .action(async (runId: string, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const { indexerClass, topic } = options;
      const body = { indexerClass, ...given({ topic }) };
      const { tables } = await withCaller(options, (caller) =>
        caller.call("POST /api/runs/:runId/reindex", { params: { runId }, body }),
      );
      const emptied = tables.length > 0 ? `emptied ${tables.join(", ")}` : "it has no tables of its own";
      printResult(
        options,
        { runId, indexerClass, tables },
        `${indexerClass} begins anew on run ${runId}: ${emptied}. Running indexers take it from here.`,
      );
    });
}

/** `tallyman run retry`: failed files go back to their indexer. */
export function retryCommand(): Command {
  return new Command("retry")
    .description("let an indexer try the files of a run again that it gave up")
    .argument("<runId>", "the run")
    .requiredOption("--indexer-class <name>", "class of the indexer, as 'tallyman gaps' shows it")
    .option("--topic <name>", "also send the dead letters of this topic back")
    .option("--group <name>", "only the dead letters of this consumer group")
    .addHelpText(
      "after",
      "\nExample:\n  $ tallyman run retry 20251006-run --indexer-class EnvironmentIndexer --topic batch-topic",
    )
    .action(async (runId: string, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const { indexerClass, topic, group } = options;
      const body = { indexerClass, ...given({ topic, group }) };
      const redriven = await withCaller(options, (caller) =>
        caller.call("POST /api/runs/:runId/retry", { params: { runId }, body }),
      );
      printResult(
        options,
        { runId, indexerClass, ...redriven },
        `${redriven.files} failed files and ${redriven.messages} dead letters go back to ${indexerClass}.`,
      );
    });
}
