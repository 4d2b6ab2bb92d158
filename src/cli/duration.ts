import { InvalidArgumentError } from "commander";

const units = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
] as const;

/** A duration in its largest fitting unit: 1.5 h. */
export function durationText(ms: number): string {
  const [size, unit] = units.find(([each]) => ms >= each) ?? [1, "ms"];
  return `${Math.round((ms / size) * 10) / 10} ${unit}`;
}

/** Reads a duration such as 7d, 12h, 30min, 90s or 500ms. */
export function parseDuration(text: string): number {
  const [, amount = "", unit = ""] = /^(\d{1,9})\s*(d|h|min|s|ms)$/.exec(text) ?? [];
  const size = unit === "ms" ? 1 : units.find(([, each]) => each === unit)?.[0];
  const ms = Number(amount) * (size ?? 0);
  if (ms > 0) return ms;
  throw new InvalidArgumentError("Write a duration such as 7d, 12h, 30min, 90s or 500ms.");
}
