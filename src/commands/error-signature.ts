const lettersMax = 255;

/** What varies between two failures of the same kind, most specific first. */
const variableParts: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "<id>"],
  [/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?/g, "<time>"],
  [/'[^']*'|"[^"]*"|`[^`]*`/g, "<text>"],
  [/\b0x[0-9a-f]+\b/gi, "<n>"],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b/gi, "<id>"],
  [/\d+(\.\d+)?/g, "<n>"],
];

/**
 * An error without its variable parts, so that failures of one kind can be found and repaired together.
 *
 * @example
 * ```ts
 * errorSignature("PermanentError", "Order 4711 of 'Mia' is closed"); // "PermanentError: Order <n> of <text> is closed"
 * ```
 */
export function errorSignature(name: string, message: string): string {
  const [firstLine = ""] = message.split("\n");
  const stable = variableParts.reduce((text, [pattern, name]) => text.replaceAll(pattern, name), firstLine);
  return `${name}: ${stable.trim()}`.slice(0, lettersMax);
}
