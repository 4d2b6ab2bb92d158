import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startChild } from "../src/testing/index.ts";
import { importingSources } from "./doc-examples/packages.ts";
import { problemOf, wordsOf } from "./kit/command-lines.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Every page that people read. */
async function pages(): Promise<string[]> {
  const docs = await readdir(join(root, "docs"), { recursive: true });
  const names = docs.filter((name) => name.endsWith(".md")).map((name) => join("docs", name));
  return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", ...names.sort()];
}

/** A command line in a block of code, or in a sentence. */
const commandLine = /(^|&& |\(|`)npx tallyman ([^`\n]*?)(?=`|\n| &&|\))/gm;

/** A link inside the repository: the file, empty for the page itself, and the heading in it. */
const relativeLink = /\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g;
/** A block of code that is marked to be run. */
const runnable = /```ts run\n([\s\S]*?)```/g;

/** What each block prints last, by page and number. */
const lastLines: Readonly<Record<string, readonly string[]>> = {
  "docs/quickstart.md": ["COMPLETED 3"],
  "docs/guides/bulk-import.md": ["2000"],
  "docs/guides/embed.md": ["both or neither"],
  "docs/guides/own-indexer.md": ["300 of 300 ticks, by two instances"],
  "docs/guides/own-storage.md": ["every case passed"],
  "docs/guides/own-topic.md": ["3 announcements, all acknowledged"],
};

/** The anchors of a page's headings, as GitHub makes them. */
async function anchorsOf(page: string): Promise<Set<string>> {
  const text = (await readFile(page, "utf8")).replaceAll(/^```[\s\S]*?^```/gm, "");
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading.toLowerCase());
  return new Set(
    headings.map((heading) => heading.replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")),
  );
}

/** The pages that a page links to. */
async function linkedPages(page: string): Promise<string[]> {
  const text = await readFile(join(root, page), "utf8");
  const links = [...text.matchAll(relativeLink)].map(([, link = ""]) => join(dirname(page), link));
  return links.filter((link) => link.endsWith(".md") && existsSync(join(root, link)));
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tallyman-docs-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("documentation", () => {
  it("links to what is there", async () => {
    const broken: string[] = [];
    for (const page of await pages()) {
      const text = await readFile(join(root, page), "utf8");
      for (const [, link = "", heading] of text.matchAll(relativeLink)) {
        const target = link === "" ? join(root, page) : resolve(root, dirname(page), link);
        const isThere =
          existsSync(target) && (heading === undefined || (await anchorsOf(target)).has(heading));
        if (!isThere) broken.push(`${page}: ${link}#${heading ?? ""}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("has command lines that tallyman takes", async () => {
    const problems: string[] = [];
    let checked = 0;
    for (const page of await pages()) {
      for (const [, before, line = ""] of (await readFile(join(root, page), "utf8")).matchAll(commandLine)) {
        const problem = await problemOf(wordsOf(line), before === "`");
        if (problem) problems.push(`${page}: ${problem}`);
        checked += 1;
      }
    }
    expect(problems).toEqual([]);
    expect(checked).toBeGreaterThan(20);
  });

  it("is all reached by links from the README", async () => {
    const reached = new Set(["README.md"]);
    for (const page of reached) for (const link of await linkedPages(page)) reached.add(link);
    expect((await pages()).filter((page) => !reached.has(page))).toEqual([]);
  });

  it("has code that is all run by this test", async () => {
    const found: Record<string, number> = {};
    for (const page of await pages()) {
      const blocks = [...(await readFile(join(root, page), "utf8")).matchAll(runnable)];
      if (blocks.length > 0) found[page] = blocks.length;
    }
    expect(found).toEqual(
      Object.fromEntries(Object.entries(lastLines).map(([page, lines]) => [page, lines.length])),
    );
  });

  it.each(
    Object.entries(lastLines).flatMap(([page, lines]) =>
      lines.map((line, index) => [page, index, line] as const),
    ),
  )("%s, block %i, runs and says '%s'", { timeout: 120_000 }, async (page, index, line) => {
    const text = await readFile(join(root, page), "utf8");
    const code = [...text.matchAll(runnable)][index]?.[1] ?? "";
    const file = join(folder, "block.mts");
    await writeFile(
      file,
      importingSources(code, (name) => pathToFileURL(join(root, name)).href),
    );
    await using child = startChild(pathToFileURL(file), { cwd: folder });
    expect(await child.exit, child.errorOutput).toEqual({ code: 0, signal: null });
    expect(child.lines.at(-1)).toBe(line);
  });
});
