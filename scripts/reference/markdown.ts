/** A table; a bar inside a cell is escaped, a line break becomes a space. Columns that are empty throughout are left out. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const isUsed = (column: number) => rows.some((row) => (row[column] ?? "") !== "");
  const line = (cells: readonly string[]) => `| ${cells.filter((_, at) => isUsed(at)).join(" | ")} |`;
  return [
    line(heads),
    line(heads.map(() => "---")),
    ...rows.map((row) => line(heads.map((_, at) => cell(row[at] ?? "")))),
  ].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ");
}

/** A value as code, nothing for undefined. */
export function code(value: unknown): string {
  if (value === undefined) return "";
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

/** A block of code. */
export function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** A page of parts, each of which is a paragraph, with a note on where it comes from. Empty parts are left out. */
export function page(title: string, source: string, ...parts: readonly string[]): string {
  const note = `Generated from ${source} by \`npm run generate\`.`;
  return `${[`# ${title}`, note, ...parts].filter((part) => part !== "").join("\n\n")}\n`;
}
