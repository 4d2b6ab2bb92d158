import { errorCatalogue, exitCodes } from "../src/errors/index.ts";

/** The page of all error codes, from the catalogue. */
export function errorsPage(): string {
  const rows = Object.entries(errorCatalogue)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(
      ([code, { status, exit, meaning, remedy }]) =>
        `| \`${code}\` | ${status} | ${exit} | ${meaning} | ${remedy} |`,
    );
  const exits = Object.entries(exitCodes).map(([name, code]) => `| ${code} | ${words(name)} |`);
  return [
    "# Errors",
    "",
    "Generated from `src/errors/catalogue.ts` by `npm run generate`.",
    "",
    "Every error that Tallyman raises on purpose is a `TallymanError` with a stable `code`, a `message` for people",
    "and `details` for programs. Codes are added, never renamed.",
    "",
    "| code | HTTP | exit | what happened | what to do |",
    "|---|---|---|---|---|",
    ...rows,
    "",
    "## Exit codes of the CLI",
    "",
    "| exit | meaning |",
    "|---|---|",
    ...exits,
    "",
  ].join("\n");
}

function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
