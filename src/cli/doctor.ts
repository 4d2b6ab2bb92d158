import { Command } from "commander";
import { type Diagnosis, doctor, type Finding } from "../app/index.ts";
import { exitCodes } from "../errors/index.ts";
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
      const diagnosis = await withTallyman(options, doctor, { check: false });
      printResult(options, diagnosis, describeDiagnosis(diagnosis));
      process.exitCode = exitCodeOf(diagnosis);
    });
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
