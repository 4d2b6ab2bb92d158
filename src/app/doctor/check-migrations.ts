import type { Tallyman } from "../tallyman.ts";
import { type Finding, failure, ok } from "./finding.ts";

export async function checkMigrations(tallyman: Tallyman): Promise<Finding> {
  const { schema, codeVersion, pending } = await tallyman.migrate({ dryRun: true });
  if (pending.length === 0) return ok("migrations", `schema ${schema} is at level ${codeVersion}`);
  return failure("migrations", `schema ${schema} lacks ${pending.join(", ")}`, "Run 'tallyman migrate'.");
}
