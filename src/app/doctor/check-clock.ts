import { serverNow } from "../../database/index.ts";
import type { Tallyman } from "../tallyman.ts";
import { type Finding, ok, warning } from "./finding.ts";

const differenceWarningMs = 1_000;
const remedy =
  "Only the database's clock decides, so nothing breaks, but logs are hard to compare: synchronise the clocks (NTP).";

export async function checkClock({ database }: Tallyman): Promise<Finding> {
  const before = Date.now();
  const now = await serverNow(database);
  const after = Date.now();
  const differenceMs = Math.round(now.getTime() - (before + after) / 2);
  const direction = differenceMs > 0 ? "behind" : "ahead of";
  const found = `this machine's clock is ${Math.abs(differenceMs)} ms ${direction} the database's`;
  return Math.abs(differenceMs) < differenceWarningMs ? ok("clock", found) : warning("clock", found, remedy);
}
