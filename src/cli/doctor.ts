import { Command } from "commander";
import { type Diagnosis, diagnoseFailure, doctor, type Finding } from "../app/index.ts";
import { exitCodes, isTallymanError, type TallymanError } from "../errors/index.ts";
import { withTallyman } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

/** `tallyman doctor`: checks everything and says what to do about each finding. */
export function doctorCommand(): Command {
  return new Command("doctor")
    .description("check Node, database, clock, migrations, disk and connections; says what to do")
    .addHelpText(
      "after",
      "\nExample:\n  $ tallyman doctor --json | jq '.findings[] | select(.status != \"ok\")'",
    )
    .action(async (_options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      try {
        report(options, await withTallyman(options, doctor, { check: false }));
      } catch (error) {
        if (isUnreachable(error)) report(options, await diagnoseFailure(error));
        throw error;
      }
    });
}

/** A database that can't be opened is a finding among others; a wrong command line is not. */
function isUnreachable(error: unknown): error is TallymanError {
  return isTallymanError(error) && error.entry.exit === exitCodes.databaseUnreachable;
}

function report(options: GlobalOptions, diagnosis: Diagnosis): void {
  printResult(options, diagnosis, describeDiagnosis(diagnosis));
  process.exitCode = exitCodeOf(diagnosis);
}

/** The diagnosis as lines for people. */
export function describeDiagnosis({ findings }: Diagnosis): string {
  const marks = { ok: "✓", warning: "!", failure: "✗" } as const;
  const rows = findings.map(({ check, status, message }) => [`${marks[status]} ${check}`, message]);
  const remedies = findings
    .filter(({ remedy }) => remedy !== undefined)
    .map(({ check, remedy }) => `  ${check}: ${remedy}`);
  return [alignColumns(rows), ...(remedies.length > 0 ? ["", "What to do:", ...remedies] : [])].join("\n");
}

function exitCodeOf({ healthy, findings }: Diagnosis): number {
  if (healthy) return exitCodes.ok;
  const failed = (finding: Finding) => finding.check === "migrations" && finding.status === "failure";
  return findings.some(failed) ? exitCodes.migrationPending : exitCodes.error;
}
