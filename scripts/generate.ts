/**
 * Writes the files that are made from code: the errors page, the configuration's JSON Schema and the
 * schema of the database. With --check it only compares, and fails when one has drifted.
 */
import { readFile, writeFile } from "node:fs/promises";
import { configJsonSchema } from "../src/app/index.ts";
import { errorsPage } from "./errors-page.ts";
import { schemaSql } from "./schema-sql.ts";

const generated: Readonly<Record<string, () => string | Promise<string>>> = {
  "docs/errors.md": errorsPage,
  "docs/config.schema.json": () => `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
  "sql/schema.sql": schemaSql,
};

const isCheck = process.argv.includes("--check");
for (const [file, make] of Object.entries(generated)) {
  const content = await make();
  const present = await readFile(file, "utf8").catch(() => "");
  if (content === present) continue;
  if (isCheck) {
    console.error(`${file} is out of date. Run 'npm run generate' and commit it.`);
    process.exitCode = 1;
  } else {
    await writeFile(file, content);
    console.log(`wrote ${file}`);
  }
}
