import type { Tallyman } from "../tallyman.ts";
import { type Finding, ok, warning } from "./finding.ts";

const differenceWarningMs = 1_000;

export async function checkClock({ database }: Tallyman): Promise<Finding> {
  const before = Date.now();
  const { rows } = await database.query<{ now: Date }>("SELECT clock_timestamp() AS now");
  const after = Date.now();
  const differenceMs = Math.round((rows[0]?.now.getTime() ?? 0) - (before + after) / 2);
  const found = `this machine's clock is ${Math.abs(differenceMs)} ms ${differenceMs > 0 ? "behind" : "ahead of"} the database's`;
  if (Math.abs(differenceMs) < differenceWarningMs) return ok("clock", found);
  return warning(
    "clock",
    found,
    "Only the database's clock decides, so nothing breaks, but logs are hard to compare: synchronise the clocks (NTP).",
  );
}
