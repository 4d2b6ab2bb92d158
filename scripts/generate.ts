/**
 * Writes the files that are made from others: the contracts' types, the reference pages, the configuration's JSON Schema and
 * the schema of the database. With --check it only compares, and fails when one has drifted.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { configJsonSchema } from "../src/app/index.ts";
import { contractFiles } from "./contracts.ts";
import { errorsPage } from "./errors-page.ts";
import { cliPage } from "./reference/cli-page.ts";
import { configPage } from "./reference/config-page.ts";
import { httpPage } from "./reference/http-page.ts";
import { metricsPage } from "./reference/metrics-page.ts";
import { sqlPage } from "./reference/sql-page.ts";
import { schemaSql } from "./schema-sql.ts";

const schema = await schemaSql();

const generated: Readonly<Record<string, string>> = {
  ...contractFiles(),
  "docs/errors.md": errorsPage(),
  "docs/config.schema.json": `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
  "docs/reference/cli.md": cliPage(),
  "docs/reference/config.md": configPage(),
  "docs/reference/http.md": await httpPage(),
  "docs/reference/metrics.md": metricsPage(),
  "docs/reference/sql.md": sqlPage(schema),
  "sql/schema.sql": schema,
};

const isCheck = process.argv.includes("--check");
for (const [file, content] of Object.entries(generated)) {
  if (content === (await readFile(file, "utf8").catch(() => ""))) continue;
  if (isCheck) {
    console.error(`${file} is out of date. Run 'npm run generate' and commit it.`);
    process.exitCode = 1;
  } else {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    console.log(`wrote ${file}`);
  }
}
