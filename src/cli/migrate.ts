import { Command } from "commander";
import type { MigrationReport } from "../database/index.ts";
import { exitCodes } from "../errors/index.ts";
import { withTallyman } from "./open.ts";
import { type GlobalOptions, printResult } from "./output.ts";

interface Options extends GlobalOptions {
  readonly dryRun?: boolean;
}

/** `tallyman migrate`: brings the database up to this version's level. */
export function migrateCommand(): Command {
  return new Command("migrate")
    .description("bring the database up to this version's level; safe to run from many places at once")
    .option("--dry-run", "only list what is missing; exit code 5 when anything is")
    .addHelpText("after", "\nExample:\n  $ tallyman migrate --dry-run --json")
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const dryRun = options.dryRun ?? false;
      const report = await withTallyman(options, (tallyman) => tallyman.migrate({ dryRun }), {
        check: false,
      });
      printResult(options, report, describe(report));
      if (report.pending.length > 0) process.exitCode = exitCodes.migrationPending;
    });
}

function describe({ schema, codeVersion, applied, pending }: MigrationReport): string {
  if (pending.length > 0) return `Schema ${schema} lacks ${pending.join(", ")}. Run 'tallyman migrate'.`;
  if (applied.length === 0) return `Schema ${schema} is up to date, at level ${codeVersion}.`;
  return `Schema ${schema} is now at level ${codeVersion}: applied ${applied.join(", ")}.`;
}
