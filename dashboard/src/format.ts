const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const shortIdLetters = 8;

/** A whole number with separators: 12,345. */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** A rate: whole when large, with a digit after the point when small. */
export function formatRate(perSecond: number): string {
  return perSecond >= 100 || perSecond === 0 ? formatCount(perSecond) : perSecond.toFixed(1);
}

/** A time span in its two largest units: '3 min 20 s'. */
export function formatSpan(spanMs: number): string {
  const whole = Math.max(0, spanMs);
  if (whole < secondMs) return `${Math.round(whole)} ms`;
  if (whole < minuteMs) return `${Math.floor(whole / secondMs)} s`;
  if (whole < hourMs) return twoUnits(whole, [minuteMs, "min"], [secondMs, "s"]);
  if (whole < dayMs) return twoUnits(whole, [hourMs, "h"], [minuteMs, "min"]);
  return twoUnits(whole, [dayMs, "d"], [hourMs, "h"]);
}

type Unit = readonly [spanMs: number, name: string];

function twoUnits(spanMs: number, [largeMs, large]: Unit, [smallMs, small]: Unit): string {
  const rest = Math.floor((spanMs % largeMs) / smallMs);
  return `${Math.floor(spanMs / largeMs)} ${large}${rest > 0 ? ` ${rest} ${small}` : ""}`;
}

/** The hour of the day, with seconds. */
export function formatClock(time: string | number | Date): string {
  return new Date(time).toLocaleTimeString("en-GB");
}

/** Day and hour. */
export function formatMoment(time: string | number | Date): string {
  const moment = new Date(time);
  const day = moment.toLocaleDateString("en-GB", { day: "2-digit", month: "short" });
  return `${day} ${formatClock(moment)}`;
}

/** A moment as a field for local times takes it: '2026-03-01T06:00:00'. */
export function toLocalInput(time: string): string {
  const moment = new Date(time);
  const local = new Date(moment.getTime() - moment.getTimezoneOffset() * minuteMs);
  return local.toISOString().slice(0, "2026-03-01T06:00:00".length);
}

/** A count with its noun: '1 command', '3 commands'. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : plural}`;
}

/** The last letters of a UUID: the first ones are a time, and alike. */
export function shortId(id: string): string {
  return id.slice(-shortIdLetters);
}

/** IN_TROUBLESHOOTING_QUEUE as 'in troubleshooting queue'. */
export function formatWord(word: string): string {
  return word
    .replace(/(?<=_)TSQ$/, "TROUBLESHOOTING")
    .replaceAll("_", " ")
    .toLowerCase();
}

/** The fields of an object in a line: 'attempts: 1, error: gateway refuses'. */
export function formatFields(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  const entries = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return entries.map(([name, field]) => `${name}: ${formatField(field)}`).join(", ");
}

function formatField(field: unknown): string {
  if (typeof field === "string") return field;
  return Array.isArray(field) ? JSON.stringify(field) : formatFields(field) || JSON.stringify(field);
}
