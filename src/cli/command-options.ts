import { userInfo } from "node:os";
import { TallymanError } from "../errors/index.ts";

/** The domain of commands that name none. */
export const defaultDomain = "default";

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The fields that were given: those of a request that are optional. */
export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}

/** Parses the JSON of an option, and says which one it was when it is none. */
export function parseJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TallymanError(
      "USAGE",
      `${option} is not JSON: ${(cause as Error).message}. Example: '{"orderId": 7}'.`,
      {
        cause,
      },
    );
  }
}

/** Parses a whole number of at least `min`. */
export function parseNumber(option: string, text: string, min = 1): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new TallymanError("USAGE", `${option} must be a whole number of at least ${min}, but is '${text}'.`);
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses a duration such as 500ms, 30s, 5m, 2h or 1d into milliseconds. */
export function parseDuration(option: string, text: string): number {
  const [, amount = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  const ms = Math.round(Number(amount) * (unitMs[unit as keyof typeof unitMs] ?? Number.NaN));
  if (amount !== "" && Number.isSafeInteger(ms)) return ms;
  throw new TallymanError(
    "USAGE",
    `${option} must be a duration such as 500ms, 30s, 5m, 2h or 1d, but is '${text}'.`,
  );
}

/** Milliseconds as people write them, in the largest unit that fits. */
export function formatDuration(ms: number): string {
  const units = Object.entries(unitMs).toReversed();
  const [unit, size] = units.find(([, size]) => ms > 0 && ms % size === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

/** Parses a time in ISO 8601. */
export function parseTime(option: string, text: string): Date {
  const time = timeOf(text);
  if (time) return time;
  throw new TallymanError(
    "USAGE",
    `${option} must be a time such as 2030-01-01T09:00:00Z, but is '${text}'.`,
  );
}

/** A time in ISO 8601; undefined for what is none. Dates alone would take almost any text for one. */
export function timeOf(text: string): Date | undefined {
  const time = new Date(text);
  return /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(time.getTime()) ? time : undefined;
}

/** Who acts, for the audit: the one named, or the user of this machine; in containers that may be a mere number. */
export function operatorName(given?: string): string {
  if (given !== undefined) return given;
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}
