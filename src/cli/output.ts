import { toTallymanError } from "../errors/index.ts";

/** The options that every command has. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly config?: string;
  readonly databaseUrl?: string;
  readonly url?: string;
  readonly schema?: string;
  readonly logLevel?: string;
}

/** With `--json` there is one document on stdout, also when an error follows a result. */
let hasPrinted = false;

/** Prints a result on stdout: one JSON document with `--json`, else the text for people. */
export function printResult(options: GlobalOptions, data: unknown, text: string): void {
  hasPrinted = true;
  process.stdout.write(options.json ? `${JSON.stringify(data, null, 2)}\n` : `${text}\n`);
}

/** Prints one line of a long-running command on stdout: a JSON document of its own with `--json`. */
export function printLine(options: GlobalOptions, data: unknown, text: string): void {
  hasPrinted = true;
  process.stdout.write(options.json ? `${JSON.stringify(data)}\n` : `${text}\n`);
}

/** Prints a step of long work on stderr, for people only. */
export function printStep(options: GlobalOptions, text: string): void {
  if (!options.json) process.stderr.write(`${text}\n`);
}

/** Shows how far long work is: one line that is drawn over on a terminal. Elsewhere only the last one, not noise. */
export function printProgress(options: GlobalOptions, text: string, isLast: boolean): void {
  if (options.json || !process.stderr.isTTY) {
    if (isLast) printStep(options, text);
    return;
  }
  process.stderr.write(`\r\u001b[K${text}${isLast ? "\n" : ""}`);
}

/** Prints an error as one line with its code (or as JSON) and returns the exit code. */
export function reportError(error: unknown, options: GlobalOptions): number {
  const { code, message, details, entry, stack } = toTallymanError(error);
  if (options.json && !hasPrinted) {
    process.stdout.write(
      `${JSON.stringify({ success: false, error: { code, message, details } }, null, 2)}\n`,
    );
  }
  process.stderr.write(`error: ${message} [${code}]\n`);
  if (options.verbose) process.stderr.write(`${(error as Error | undefined)?.stack ?? stack}\n`);
  return entry.exit;
}

/** Two or more columns of text, aligned. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, i) => Math.max(known[i] ?? 0, cell.length)),
    [],
  );
  return rows
    .map((row) => row.map((cell, i) => (i < row.length - 1 ? cell.padEnd(widths[i] ?? 0) : cell)).join("  "))
    .join("\n");
}
