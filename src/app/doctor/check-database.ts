import { serverNow, serverVersion } from "../../database/index.ts";
import type { Tallyman } from "../tallyman.ts";
import { type Finding, ok, warning } from "./finding.ts";

const samples = 5;
const latencyWarningMs = 20;

export async function checkDatabase({ database }: Tallyman): Promise<Finding> {
  const version = await serverVersion(database);
  const latencies: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    const start = performance.now();
    await serverNow(database);
    latencies.push(performance.now() - start);
  }
  const medianMs = latencies.sort((a, b) => a - b)[Math.floor(samples / 2)] ?? 0;
  const found = `PostgreSQL ${version}, ${medianMs.toFixed(1)} ms per round trip`;
  if (medianMs <= latencyWarningMs) return ok("database", found);
  const remedy = "Every unit of work is one round trip: run the workers nearer to the database.";
  return warning("database", found, remedy);
}
