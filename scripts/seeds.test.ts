import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";

const page = readFileSync("docs/seeds.md", "utf8");
const isRow = (line: string) => line.startsWith("|") && !/^\| (requirement|---) \|/.test(line);
const rows = page
  .split("\n")
  .filter(isRow)
  .map((line) => line.slice(1, -1).split(" | "));
/** The text of a link may have brackets in pairs. */
const links = /\[((?:[^[\]]|\[[^[\]]*\])+)\]\(([^)]+)\)/g;

function linksOf(cell = ""): { text: string; file: string }[] {
  return [...cell.matchAll(links)].map(([, text = "", target = ""]) => ({
    text: text.replaceAll("`", ""),
    file: join("docs", target),
  }));
}

function hasTitle(source: string, title: string): boolean {
  return source.includes(`"${title}"`) || source.includes(`\`${title}\``);
}

describe("docs/seeds.md", () => {
  it("has a row of four cells for every requirement, with a place in the code and a test", () => {
    const incomplete = rows.filter(
      ([requirement = "", code, test, decision = "", ...more]) =>
        requirement.trim() === "" ||
        linksOf(code).length === 0 ||
        linksOf(test).length === 0 ||
        decision.trim() === "" ||
        more.length > 0,
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(incomplete).toEqual([]);
  });

  it("names symbols that are in the files they lead to", () => {
    const missing = rows
      .flatMap(([, code]) => linksOf(code))
      .filter(({ text, file }) => text !== basename(file) && !readFileSync(file, "utf8").includes(text));
    expect(missing).toEqual([]);
  });

  it("names tests by their titles, which are in the files they lead to", () => {
    const missing = rows
      .flatMap(([, , test]) => linksOf(test))
      .filter(({ text, file }) => text !== basename(file) && !hasTitle(readFileSync(file, "utf8"), text));
    expect(missing).toEqual([]);
  });

  it("leads to files of tests, or of cases that tests run", () => {
    const others = rows
      .flatMap(([, , test]) => linksOf(test))
      .filter(({ file }) => !/\.test\.ts$|^src\/testing\/.*-cases\.ts$/.test(file));
    expect(others).toEqual([]);
  });
});
