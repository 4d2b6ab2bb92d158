import type { Executor } from "./executor.ts";
import { describeFunctions, describeIndexes, describeTables } from "./sql/catalogue.ts";

/**
 * The tables, indexes and functions of a schema as SQL text, from the server's catalogue and in a
 * stable order: the same migrations give the same text. Committed as `sql/schema.sql`, so that a
 * review sees what a migration leaves behind, and compared in the tests.
 *
 * @param as the name that stands for the schema in the text
 */
export async function schemaSnapshot(executor: Executor, schema: string, as: string): Promise<string> {
  const tables = await describeTables(executor, schema);
  const indexes = await describeIndexes(executor, schema);
  const functions = await describeFunctions(executor, schema);
  const parts = [
    ...tables.map(
      (table) => `CREATE TABLE ${schema}.${table.name} (\n  ${table.lines.join(",\n  ")}\n)${table.options};`,
    ),
    ...indexes.map((definition) => `${definition};`),
    ...functions.map((definition) => `${definition.trimEnd()};`),
  ];
  return parts.join("\n\n").replaceAll(new RegExp(`\\b${schema}\\.`, "g"), `${as}.`);
}
