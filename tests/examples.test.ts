import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { setup, startChild } from "../src/testing/index.ts";

const folder = new URL("../examples/", import.meta.url);

/** The last line that each example prints. */
const lastLines: Readonly<Record<string, string>> = {
  "05-sensor-ingest.ts": "2500 of 2500 readings stored, from 3 files",
  "06-custom-indexer.ts": "simple 500, minimal 500, summed 500 of 500 ticks",
};

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
      await using t = await setup();
      const cwd = await t.temporaryFolder();
      await using child = startChild(new URL(name, folder), { cwd });
      expect(await child.exit, child.errorOutput).toEqual({ code: 0, signal: null });
      expect(child.lines.at(-1)).toBe(line);
    },
  );
});
