import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What a migration file says about what it makes. */
export interface MigrationComments {
  /** Name of the file without number and ending: `topics`. */
  readonly name: string;
  /** What the file is about; empty when its first comment is about its first table. */
  readonly intro: string;
  /** In the order of the file. */
  readonly tables: readonly CommentedTable[];
  readonly views: readonly CommentedView[];
}

/** A table and the comments on it and its columns. */
export interface CommentedTable {
  readonly name: string;
  readonly comment: string;
  /** By column; columns without a comment are not there. */
  readonly columns: ReadonlyMap<string, string>;
}

/** A view with its comment and its SQL. */
export interface CommentedView {
  readonly name: string;
  readonly comment: string;
  readonly sql: string;
}

/** The comments of every migration in a folder that makes tables or views. */
export function migrationComments(folder: string): MigrationComments[] {
  return readdirSync(folder)
    .filter((file) => /^\d+-.*\.sql$/.test(file))
    .sort()
    .map((file) => commentsOf(file, readFileSync(join(folder, file), "utf8")))
    .filter(({ tables, views }) => tables.length + views.length > 0);
}

/** The comments of one migration; its first one is about the whole file when a blank line follows it, or divides it. */
export function commentsOf(file: string, text: string): MigrationComments {
  const [header = ""] = /^(?:--.*\n)+/.exec(text) ?? [];
  const isIntro = text.slice(header.length).startsWith("\n") || /^--\n/m.test(header);
  const body = isIntro ? text.slice(header.length) : text;
  return {
    name: file.replace(/^\d+-(.*)\.sql$/, "$1"),
    intro: isIntro ? prose(header) : "",
    tables: [...body.matchAll(tablePattern)].map(([, comment = "", name = "", columns = ""]) => ({
      name,
      comment: prose(comment),
      columns: columnComments(columns),
    })),
    views: [...body.matchAll(viewPattern)].map(([, comment = "", sql = "", name = ""]) => ({
      name,
      comment: prose(comment),
      sql,
    })),
  };
}

/** A sequence that belongs to a table may stand between it and its comment. */
const tablePattern = /((?:^--.*\n)*)(?:^CREATE SEQUENCE .*\n)?^CREATE TABLE (\S+) \(\n([\s\S]*?)^\)/gm;
const viewPattern = /((?:^--.*\n)*)(^CREATE VIEW (\S+) AS[\s\S]*?;)/gm;

/** A column's comment stands on the lines before it. */
function columnComments(columns: string): Map<string, string> {
  const found = [...columns.matchAll(/((?:^ {2}--.*\n)+)^ {2}([a-z_]+) /gm)];
  return new Map(found.map(([, comment = "", name = ""]) => [name, prose(comment)]));
}

/** The text of comment lines; an empty one begins a paragraph. */
function prose(comment: string): string {
  return comment
    .split("\n")
    .map((line) => line.replace(/^\s*-- ?/, ""))
    .join("\n")
    .trim()
    .split("\n\n")
    .map((paragraph) => paragraph.replaceAll("\n", " "))
    .join("\n\n");
}
