import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Child, startChild } from "../src/testing/index.ts";
import { InstalledPackage } from "./kit/installed-package.ts";

const timeout = 600_000;

let installed: InstalledPackage;
beforeAll(async () => {
  installed = await InstalledPackage.install();
}, timeout);
afterAll(() => installed?.[Symbol.asyncDispose]());

/** The blocks of code of one kind in docs/quickstart.md, to the letter, from a heading on. */
async function quickstartBlocks(kind: string, heading: string): Promise<string[]> {
  const text = await readFile(new URL("../docs/quickstart.md", import.meta.url), "utf8");
  const section = text.slice(text.indexOf(heading));
  return section
    .split("```")
    .flatMap((block) => (block.startsWith(`${kind}\n`) ? [block.slice(kind.length + 1)] : []));
}

async function quickstart(): Promise<string> {
  return (await quickstartBlocks("ts run", "## 2."))[0] ?? "";
}

/** The same in a module that may not wait at its top, as those that use `require` may not. */
async function quickstartInFunction(): Promise<string> {
  const [, imports, body] = /^((?:import .*\n)+)([\s\S]*)$/.exec(await quickstart()) ?? [];
  return `${imports}async function main() {${body}}\nvoid main();\n`;
}

function start(file: string, ...args: string[]): Child {
  const script = pathToFileURL(join(installed.folder, file));
  return startChild(script, { args, cwd: installed.folder, env: { DATABASE_URL: "" } });
}

async function run(file: string): Promise<readonly string[]> {
  await using child = start(file);
  expect(await child.exit, child.errorOutput).toEqual({ code: 0, signal: null });
  return child.lines;
}

/** Uses something of every entry, so that its types are looked at. */
const entries = `
import { createServer, Tallyman, type WorkerOptions } from "tallyman";
import { TallymanClient } from "tallyman/client";
import { setup, type TestContext } from "tallyman/testing";
import globalSetup from "tallyman/testing/global-setup";

export const client: TallymanClient = new TallymanClient({ url: "http://127.0.0.1:8082" });
export const batches = async () => (await client.call("GET /api/batches")).items.map(({ batchId }) => batchId);
export const open = async (url: string) => createServer(await Tallyman.connect({ database: url }), { port: 0 });
export const prepare: () => Promise<TestContext> = () => setup();
export const options: Partial<WorkerOptions> = { concurrency: 2 };
export const close: () => Promise<() => Promise<void>> = globalSetup;
`;

describe("the package", () => {
  it("has what people need, and nothing else", async () => {
    const { exports, bin } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
    const promised = [...Object.values(exports), ...Object.values(bin)]
      .flatMap((target) => (typeof target === "string" ? [target] : Object.values(target as object)))
      .map((target) => target.replace("./", ""));
    expect(promised.filter((path) => !installed.files.includes(path))).toEqual([]);
    expect(installed.files).toContain("dist/dashboard/index.html");
    expect(installed.files).toContain("sql/001-foundation.sql");
    const expected =
      /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|docs\/(config\.schema\.json|errors\.md|reference\/[\w-]+\.md)|sql\/(run\/)?[\w-]+\.sql|dist\/(dashboard\/(index\.html|[\w./-]+\.(js|css|svg))|[\w./-]+(\.js|\.d\.ts)))$/;
    expect(installed.files.filter((path) => !expected.test(path) || path.includes(".test."))).toEqual([]);
  });

  it("type checks strictly, and runs the quickstart by import and by require", { timeout }, async () => {
    await installed.write("quickstart.mts", await quickstart());
    await installed.write("quickstart.cts", await quickstartInFunction());
    await installed.write("entries.mts", entries);
    await installed.write("entries.cts", entries);
    const files = ["quickstart.mts", "entries.mts", "quickstart.cts", "entries.cts"];
    await installed.compile(files, { module: "nodenext" });
    expect(await readFile(join(installed.folder, "entries.cjs"), "utf8")).toContain(
      'require("tallyman/testing")',
    );
    for (const file of ["quickstart.mjs", "quickstart.cjs"]) expect(await run(file)).toEqual(["COMPLETED 3"]);
    for (const file of ["entries.mjs", "entries.cjs"]) expect(await run(file)).toEqual([]);
  });

  it("type checks strictly in a project of CommonJS modules", { timeout }, async () => {
    await installed.write("quickstart.ts", await quickstartInFunction());
    await installed.write("entries.ts", entries);
    const options = { module: "commonjs", noEmit: true, skipLibCheck: true };
    await installed.compile(["quickstart.ts", "entries.ts"], options);
  });

  it("has a command line that says its version", { timeout }, async () => {
    expect(await installed.npm("exec", "--", "tallyman", "--version")).toBe(`${installed.version}\n`);
  });

  it("breaks and repairs as the quickstart has it", { timeout }, async () => {
    const [handlers = ""] = await quickstartBlocks("js", "## 3.");
    const [breaking = "", repairing = ""] = await quickstartBlocks("bash", "## 3.");
    await installed.write("handlers.mjs", handlers);
    expect(await installed.shell(breaking)).toMatch(
      /1 completed, 1 moved[\s\S]*1 .*order <n> has no address/,
    );
    await installed.write("handlers.mjs", handlers.replace(/.*throw.*\n/, ""));
    expect(await installed.shell(repairing)).toMatch(/1 completed, 0 moved[\s\S]*tsq\.retry .*address added/);
  });

  it("serves the dashboard, every file of it", { timeout }, async () => {
    await using child = start("node_modules/tallyman/dist/cli/main.js", "up", "--port", "0", "--json");
    const { url } = JSON.parse(await child.line('{"event":"listening"'));
    const page = await (await fetch(url)).text();
    expect(page).toContain("<title>Tallyman</title>");
    const assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(assets.length).toBeGreaterThanOrEqual(2);
    for (const path of assets) expect((await fetch(`${url}${path}`)).status, path).toBe(200);
    child.kill("SIGTERM");
    expect(await child.exit, child.errorOutput).toEqual({ code: 0, signal: null });
  });

  it("shows its demo", { timeout }, async () => {
    expect(JSON.parse(await installed.npm("exec", "--", "tallyman", "demo", "--json"))).toMatchObject({
      success: true,
      doctor: { healthy: true },
    });
  });
});
