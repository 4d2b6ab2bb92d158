import type { Tallyman } from "../tallyman.ts";
import { type Finding, ok, warning } from "./finding.ts";

const samples = 5;
const latencyWarningMs = 20;

export async function checkDatabase({ database }: Tallyman): Promise<Finding> {
  const { rows } = await database.query<{ version: string }>(
    "SELECT current_setting('server_version') AS version",
  );
  const latencies: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    const start = performance.now();
    await database.query("SELECT 1");
    latencies.push(performance.now() - start);
  }
  const medianMs = latencies.sort((a, b) => a - b)[Math.floor(samples / 2)] ?? 0;
  const found = `PostgreSQL ${rows[0]?.version}, ${medianMs.toFixed(1)} ms per round trip`;
  if (medianMs <= latencyWarningMs) return ok("database", found);
  return warning(
    "database",
    found,
    "Every unit of work is one round trip: run the workers nearer to the database.",
  );
}
