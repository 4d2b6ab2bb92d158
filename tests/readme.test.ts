import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { setup, startChild } from "../src/testing/index.ts";

describe("README", () => {
  it("has twenty lines of library code that work", async () => {
    await using t = await setup();
    const cwd = await t.temporaryFolder();
    const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
    const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
    const index = new URL("../src/index.ts", import.meta.url).href;
    const script = join(cwd, "example.mts");
    await writeFile(script, code.replace('from "tallyman"', `from ${JSON.stringify(index)}`));
    const child = startChild(new URL(`file://${script}`), { cwd });
    expect(await child.exit, child.errorOutput).toEqual({ code: 0, signal: null });
    expect(child.lines).toEqual(["COMPLETED 1000"]);
    expect(
      code
        .trim()
        .split("\n")
        .filter((line) => line !== "").length,
    ).toBeLessThanOrEqual(20);
  });
});
