import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { nodeProgram, otherNodeVersions } from "../scripts/node-versions.ts";
import { Child } from "../src/testing/index.ts";

const script = fileURLToPath(new URL("./children/smoke.child.ts", import.meta.url));

describe.each(otherNodeVersions)("Node %i", (major) => {
  const program = nodeProgram(major);
  const isThere = existsSync(program);

  it.skipIf(!isThere)(
    `carries a little of everything${isThere ? "" : " (skipped: npm test could not fetch it)"}`,
    async () => {
      const arguments_ = ["--import", import.meta.resolve("tsx"), script];
      await using child = new Child(spawn(program, arguments_, { stdio: ["ignore", "pipe", "pipe"] }));
      expect(await child.line("done ")).toMatch(`done on Node ${major}.`);
      expect(await child.exit).toEqual({ code: 0, signal: null });
    },
  );
});
