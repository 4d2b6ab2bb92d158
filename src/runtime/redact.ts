/** What stands where a secret was. */
const mask = "***";

/** A key is secret when it ends like this, whatever its case and separators: PGPASSWORD, access_token. */
const secretKey =
  /(password|passwd|passphrase|secret|token|authorization|cookie|apikey|accesskey|privatekey)s?$/;

/**
 * Secrets inside running text. The user part of a URL may hold an unescaped '@' or '/', above all in the
 * message that calls the URL wrong; so everything up to the last '@' goes, rather too much than too little.
 */
const secretsInText: readonly [pattern: RegExp, replacement: string][] = [
  [/(:\/\/[^\s:@/]{0,256}):\S{0,4096}@/g, `$1:${mask}@`],
  [/\b(\w*(?:password|passwd|secret|token|api_?key)=)(?:'[^']*'|"[^"]*"|[^\s&;,]+)/gi, `$1${mask}`],
  [/("\w*(?:password|passwd|secret|token|api_?key|authorization)"\s*:\s*)"[^"]*"/gi, `$1"${mask}"`],
  [/\b(authorization: ?)(?:\w+ )?[^\s"',]+/gi, `$1${mask}`],
  [/\b(bearer )[\w.~+/=-]{8,}/gi, `$1${mask}`],
];

/** The text with passwords in URLs, `password=…` pairs and authorization headers masked. */
export function redactText(text: string): string {
  return secretsInText.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}

/** True when the value under this key must not be shown. */
export function isSecretKey(key: string): boolean {
  return secretKey.test(key.replace(/[^a-zA-Z]/g, "").toLowerCase());
}

const depthMax = 6;
const entriesMax = 100;
const charactersMax = 10_000;

/**
 * A copy of a value that is safe to log: secrets masked, errors as plain data with their causes, and bounded
 * in depth, breadth and length, so that a cycle or a whole batch can't flood the log.
 */
export function toLogValue(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return shorten(redactText(value));
  if (typeof value === "bigint" || typeof value === "symbol") return String(value);
  if (typeof value === "function") return `[function ${value.name}]`;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (depth >= depthMax) return "[deeper]";
  if (Array.isArray(value)) return value.slice(0, entriesMax).map((item) => toLogValue(item, depth + 1));
  return toLogFields(value instanceof Error ? errorFields(value) : value, depth + 1);
}

/** As {@link toLogValue}, for the entries of an object. */
export function toLogFields(fields: object, depth = 0): Record<string, unknown> {
  const entries = Object.entries(fields).slice(0, entriesMax);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, isSecretKey(key) && value != null ? mask : toLogValue(value, depth)]),
  );
}

function errorFields(error: Error): object {
  const { name, message, stack, cause } = error;
  const errors = error instanceof AggregateError ? { errors: error.errors } : {};
  return { ...error, name, message, ...errors, ...(cause === undefined ? {} : { cause }), stack };
}

function shorten(text: string): string {
  if (text.length <= charactersMax) return text;
  return `${text.slice(0, charactersMax)}… (${text.length - charactersMax} more characters)`;
}
