import { block, code, page, table } from "./markdown.ts";
import { type CommentedTable, type MigrationComments, migrationComments } from "./migration-comments.ts";

/** A table as the database has it. */
interface Table {
  readonly key: string;
  readonly columns: readonly Column[];
}

/** A column as the database has it. */
interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly default: string;
  /** The texts that it may hold, when these are fixed. */
  readonly values: readonly string[];
}

/**
 * The tables and views for people who query them: columns as the database has them, comments from the migrations.
 *
 * @param schema the text of sql/schema.sql
 */
export function sqlPage(schema: string): string {
  const tables = tablesOf(schema);
  const own = migrationComments("sql");
  const ofRuns = migrationComments("sql/run");
  const told = new Set([...own, ...ofRuns].flatMap((file) => file.tables.map(({ name }) => name)));
  const untold = [...tables.keys()].filter((name) => !told.has(name));
  return page(
    "Tables",
    "`sql/schema.sql` and the comments in the migrations",
    "Look as much as you like; write through the library, the command line or the HTTP API. Every write there holds the locks and checks the epochs that keep counters, claims and leadership true; a plain `UPDATE` does not. `tallyman` is the schema that `database.schema` names. Each simulation run has a schema of its own, `sim_<run>` (`tallyman.simulation_run` knows its name), called `sim` here.",
    `Tables: ${[...tables.keys()].map((name) => `[${name}](#${anchor(name)})`).join(", ")}.`,
    ...own.flatMap((file) => section(capital(file.name), file, tables)),
    ...ofRuns.flatMap((file) => section(`Of each run: ${file.name}`, file, tables)),
    "## Migrations",
    "Which migrations were applied, to `tallyman` and to each run's schema.",
    ...untold.flatMap((name) => tableSection({ name, comment: "", columns: new Map() }, tables)),
  );
}

function capital(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("-", " ")}`;
}

function section(title: string, { intro, tables: told, views }: MigrationComments, tables: Tables): string[] {
  return [
    `## ${title}`,
    intro,
    ...told.flatMap((each) => tableSection(each, tables)),
    ...views.flatMap((view) => [`### ${view.name}`, `View. ${view.comment}`, block("sql", view.sql)]),
  ];
}

function tableSection({ name, comment, columns: told }: CommentedTable, tables: Tables): string[] {
  const found = tables.get(name);
  const unknown = [...told.keys()].filter((column) => !found?.columns.some((each) => each.name === column));
  if (!found || unknown.length > 0) throw new Error(`Not in sql/schema.sql: ${name} ${unknown.join(", ")}`);
  const rows = found.columns.map((column) => [
    code(column.name),
    `${column.type}${column.isNullable ? ", or null" : ""}`,
    column.default === "" ? "" : code(column.default),
    [told.get(column.name) ?? "", oneOf(column.values)].join(" ").trim(),
  ]);
  return [
    `### ${name}`,
    `${comment} Key: ${found.key}.`.trim(),
    table(["column", "type", "default", "meaning"], rows),
  ];
}

function oneOf(values: readonly string[]): string {
  return values.length === 0 ? "" : `One of ${values.join(", ")}.`;
}

type Tables = ReadonlyMap<string, Table>;

function tablesOf(schema: string): Tables {
  const found = schema.matchAll(/^CREATE TABLE (\S+) \(\n([\s\S]*?)\n\)/gm);
  return new Map([...found].map(([, name = "", body = ""]) => [name, tableOf(body)]));
}

function tableOf(body: string): Table {
  const lines = body.split("\n").map((line) => line.trim().replace(/,$/, ""));
  const constraints = lines.filter((line) => line.startsWith("CONSTRAINT "));
  const values = new Map(constraints.map(fixedValues));
  const [, key = ""] = /PRIMARY KEY \((.*?)\)/.exec(constraints.join("\n")) ?? [];
  const columns = lines
    .filter((line) => !line.startsWith("CONSTRAINT "))
    .map(columnOf)
    .map((column) => ({ ...column, values: values.get(column.name) ?? [] }));
  return { key: key.split(", ").map(code).join(", "), columns };
}

/** A check that a column holds one of some texts: `CHECK ((state = ANY (ARRAY['a'::text, …])))`. */
function fixedValues(constraint: string): [column: string, values: string[]] {
  const [, column = "", list = ""] = /CHECK \(+(\w+)\)?(?:::text)? = ANY \((.*)\)\)$/.exec(constraint) ?? [];
  return [column, [...list.matchAll(/'([^']*)'/g)].map(([, value = ""]) => value)];
}

function columnOf(line: string): Omit<Column, "values"> {
  const [, name = "", rest = ""] = /^(\S+) (.*)$/.exec(line) ?? [];
  const isNullable = !rest.endsWith(" NOT NULL");
  const described = rest.replace(/ NOT NULL$/, "");
  const [, type = described, generated = "", value = ""] =
    /^(.*?) (?:(GENERATED .*)|DEFAULT (.*))$/.exec(described) ?? [];
  return { name, type: shortType(type), isNullable, default: generated || value.replace(/::.*$/, "") };
}

/** As people write it. */
function shortType(type: string): string {
  return type
    .replace(/timestamp(\(\d\))? with time zone/, "timestamptz$1")
    .replace("character varying", "varchar")
    .replace("double precision", "float8");
}

function anchor(name: string): string {
  return name.replaceAll(".", "");
}
