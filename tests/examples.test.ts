import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startChild } from "../src/testing/index.ts";

const folder = new URL("../examples/", import.meta.url);

/** The last line that each example prints. */
const lastLines: Readonly<Record<string, string>> = {
  "01-first-command.ts": "COMPLETED Hello, Mia!",
  "02-batch-with-callback.ts": "mailed after 1000",
  "03-repair-in-troubleshooting.ts": "10 retried, COMPLETED with 100 of 100",
  "04-transaction-with-your-table.ts": "{ orders: 2, invoices: 2 }",
  "05-sensor-ingest.ts": "2500 of 2500 readings stored, from 3 files",
  "06-custom-indexer.ts": "simple 500, minimal 500, summed 500 of 500 ticks",
  "07-gap-recovery.ts": "indexed 300, missing 0",
  "08-scheduled-batches.ts": "3 fires, 3 batches, 6 commands",
  "09-two-coordinators.ts": "100 of 100 segments owned",
  "10-nats-topic.ts": "received a, b, c: the second 'a' had the key of the first",
  "11-http-client.ts": "local: batch.create, 3 commands",
  "12-testing-handlers.ts": "ok: refuses an empty order, without a retry",
  "13-own-topic.ts": "every case passed",
};

// One folder for all, as for somebody who tries them one after the other: the database is made once.
let cwd = "";
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "tallyman-examples-"));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

describe("examples", () => {
  it("are all run by this test", async () => {
    expect((await readdir(folder)).filter((name) => name.endsWith(".ts")).sort()).toEqual(
      Object.keys(lastLines),
    );
  });

  it.each(Object.entries(lastLines))(
    "%s runs to its end and says '%s'",
    { timeout: 120_000 },
    async (name, line) => {
      await using child = startChild(new URL(name, folder), { cwd });
      expect(await child.exit, child.errorOutput).toEqual({ code: 0, signal: null });
      expect(child.lines.at(-1)).toBe(line);
    },
  );
});
