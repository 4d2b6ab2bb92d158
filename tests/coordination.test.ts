import { describe, expect, it } from "vitest";
import { ensureRunSchema } from "../src/database/index.ts";
import { setup, startChild, type TestContext } from "../src/testing/index.ts";

const script = new URL("./children/claimer.child.ts", import.meta.url);
const fileCount = 1000;

async function prepare(t: TestContext): Promise<void> {
  await ensureRunSchema(t.database, "run-1");
  await t.database.query("CREATE TABLE effects (filename text, instance text)");
}

function startClaimer(t: TestContext, crashAt?: string) {
  const env = { DATABASE_URL: t.url };
  return t.use(
    startChild(script, { args: [String(fileCount)], env, ...(crashAt !== undefined && { crashAt }) }),
  );
}

async function expectEachOnce(t: TestContext): Promise<void> {
  const { rows } = await t.database.query(
    `SELECT count(*) AS effects, count(DISTINCT filename) AS files,
            (SELECT count(*) FROM sim_run_1.coordinator_batches WHERE status = 'completed') AS completed
     FROM effects`,
  );
  expect(rows).toEqual([{ effects: fileCount, files: fileCount, completed: fileCount }]);
}

describe("competing instances in processes of their own", () => {
  it("three over 1,000 files: each file exactly once, and each instance did some", async () => {
    await using t = await setup();
    await prepare(t);
    const claimers = [startClaimer(t), startClaimer(t), startClaimer(t)];
    const lines = await Promise.all(claimers.map((claimer) => claimer.line("done")));
    await Promise.all(claimers.map((claimer) => claimer.exit));
    await expectEachOnce(t);
    for (const line of lines) expect(Number(line.split(" ")[1])).toBeGreaterThan(0);
  });

  it.each(["claimer.after-claim:5", "claimer.before-complete:33", "claimer.after-commit:33"])(
    "one killed at %s: its claims are taken over after the lease, nothing is lost and nothing done twice",
    async (crashAt) => {
      await using t = await setup();
      await prepare(t);
      const doomed = startClaimer(t, crashAt);
      expect(await doomed.exit).toEqual({ code: null, signal: "SIGKILL" });
      const survivors = [startClaimer(t), startClaimer(t)];
      await Promise.all(survivors.map((survivor) => survivor.line("done")));
      await Promise.all(survivors.map((survivor) => survivor.exit));
      await expectEachOnce(t);
    },
  );
});
