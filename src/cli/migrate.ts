import { Command } from "commander";
import { type MigrationReport, rolesScript } from "../database/index.ts";
import { exitCodes } from "../errors/index.ts";
import { openConfig, withTallyman } from "./open.ts";
import { type GlobalOptions, printResult } from "./output.ts";

interface Options extends GlobalOptions {
  readonly dryRun?: boolean;
  readonly printRoles?: boolean;
}

/** `tallyman migrate`: brings the database up to this version's level. */
export function migrateCommand(): Command {
  return new Command("migrate")
    .description("bring the database up to this version's level; safe to run from many places at once")
    .option("--dry-run", "only list what is missing; exit code 5 when anything is")
    .option("--print-roles", "only print SQL that makes database roles with no more rights than they need")
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman migrate --dry-run --json\n  $ tallyman migrate --print-roles | psql app",
    )
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      if (options.printRoles) return printRoles(options);
      const dryRun = options.dryRun ?? false;
      const report = await withTallyman(options, (tallyman) => tallyman.migrate({ dryRun }), {
        check: false,
      });
      printResult(options, report, describe(report));
      if (report.pending.length > 0) process.exitCode = exitCodes.migrationPending;
    });
}

async function printRoles(options: Options): Promise<void> {
  const { database } = await openConfig(options);
  const sql = await rolesScript(database.schema);
  printResult(options, { sql }, sql.trimEnd());
}

function describe({ schema, codeVersion, applied, pending }: MigrationReport): string {
  if (pending.length > 0) return `Schema ${schema} lacks ${pending.join(", ")}. Run 'tallyman migrate'.`;
  if (applied.length === 0) return `Schema ${schema} is up to date, at level ${codeVersion}.`;
  return `Schema ${schema} is now at level ${codeVersion}: applied ${applied.join(", ")}.`;
}
