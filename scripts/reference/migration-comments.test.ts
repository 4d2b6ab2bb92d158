import { describe, expect, it } from "vitest";
import { commentsOf } from "./migration-comments.ts";

const table = (name: string, lines: string) => `CREATE TABLE tallyman.${name} (\n${lines}\n);\n`;

describe("commentsOf", () => {
  it("gives a table and its columns the comments that stand before them", () => {
    const columns = "  id int PRIMARY KEY,\n  -- How long,\n  -- in ms.\n  age_ms int,\n  name text";
    const { name, intro, tables } = commentsOf(
      "002-some-things.sql",
      `-- Things.\n${table("thing", columns)}`,
    );
    expect([name, intro]).toEqual(["some-things", ""]);
    expect(tables).toEqual([
      {
        name: "tallyman.thing",
        comment: "Things.",
        columns: new Map([["age_ms", "How long, in ms."]]),
      },
    ]);
  });

  it.each([
    ["a blank line follows", "-- About all.\n\n", "About all."],
    ["it has paragraphs", "-- About all.\n--\n-- More.\n", "About all.\n\nMore."],
  ])("takes the first comment for the whole file when %s", (_when, header, intro) => {
    const found = commentsOf("001-x.sql", `${header}${table("x", "  id int")}`);
    expect(found.intro).toBe(intro);
    expect(found.tables[0]?.comment).toBe("");
  });

  it("looks past a sequence that belongs to a table, and finds views", () => {
    const sql = "-- First.\n\n-- Leases.\nCREATE SEQUENCE tallyman.token;\n";
    const view = "-- Held.\nCREATE VIEW tallyman.held AS\nSELECT 1;\n";
    const { tables, views } = commentsOf("003-x.sql", `${sql}${table("lease", "  id int")}\n${view}`);
    expect(tables[0]?.comment).toBe("Leases.");
    expect(views).toEqual([
      { name: "tallyman.held", comment: "Held.", sql: "CREATE VIEW tallyman.held AS\nSELECT 1;" },
    ]);
  });
});
