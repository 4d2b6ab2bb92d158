import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "arrows-"));
copyFileSync("biome.json", join(folder, "biome.json"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Lints one import, as if it stood in that file. */
function lint(file: string, specifier: string): string {
  const path = join(folder, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `import { x } from "${specifier}";\n\nexport const y = x;\n`);
  const biome = resolve("node_modules/.bin/biome");
  const { stdout, stderr } = spawnSync(biome, ["lint", "--vcs-enabled=false", file], {
    encoding: "utf8",
    cwd: folder,
  });
  rmSync(path);
  return stdout + stderr;
}

describe("dependency arrows", () => {
  it.each([
    ["src/errors/x.ts", "../database/index.ts"],
    ["src/topics/sql/x.ts", "../../pipeline/index.ts"],
    ["src/commands/x.ts", "../topics/index.ts"],
    ["src/database/x.ts", "../app/index.ts"],
    ["src/server/x.ts", "../cli/index.ts"],
  ])("%s may not import %s", (file, specifier) => {
    expect(lint(file, specifier)).toContain("may import only");
  });

  it("a slice is entered through its index.ts", () => {
    expect(lint("src/topics/x.ts", "../database/database.ts")).toContain(
      "Enter a slice through its index.ts",
    );
  });

  it.each([
    ["src/topics/x.ts", "../database/index.ts"],
    ["src/pipeline/components/x.ts", "../../coordination/index.ts"],
  ])("%s may import %s", (file, specifier) => {
    expect(lint(file, specifier)).not.toContain("noRestrictedImports");
  });
});
