import { existsSync } from "node:fs";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Database } from "../../src/database/index.ts";
import type { Migration, MigrationTarget } from "../../src/database/migrations.ts";
import { migrateSchema } from "../../src/database/migrator.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";
import type { TestContext } from "../../src/testing/index.ts";

const fixtures = fileURLToPath(new URL("../fixtures/upgrade", import.meta.url));

/** The file with what a database had in it when this migration was its newest. */
function fixtureOf(target: MigrationTarget, { name }: Migration): string {
  return join(fixtures, target, `${name}.sql`);
}

/** What must be added before a database of these levels can be tried; empty when nothing is missing. */
export function missingFixtures(target: MigrationTarget, migrations: readonly Migration[]): string[] {
  return migrations
    .map((migration) => fixtureOf(target, migration))
    .filter((file) => !existsSync(file))
    .map(
      (file) =>
        `add tests/fixtures/upgrade/${file.slice(fixtures.length + 1)}: data as this migration leaves it (see README.md)`,
    );
}

/** Applies migrations one by one, and puts in each one's data right after it. */
export async function migrateWithData(
  database: Database,
  target: MigrationTarget,
  migrations: readonly Migration[],
): Promise<void> {
  const schema = target === "platform" ? "tallyman" : "sim_run_1";
  const placeholder = target === "platform" ? "tallyman" : "sim";
  for (const [index, migration] of migrations.entries()) {
    await migrateSchema(database, { schema, placeholder }, migrations.slice(0, index + 1));
    const text = await readFile(fixtureOf(target, migration), "utf8");
    await (target === "platform" ? database : database.forRun(schema)).query(text);
  }
}

/** A copy of the batch files that earlier versions wrote. */
export async function oldStorage(t: TestContext): Promise<FileSystemStorage> {
  const rootDirectory = await t.temporaryFolder();
  await cp(join(fixtures, "storage"), rootDirectory, { recursive: true });
  return t.use(new FileSystemStorage({ rootDirectory }));
}
