import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { TallymanError } from "../errors/index.ts";

/** One numbered `.sql` file. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
  /** The lowest level of a program that still works with a database migrated this far. */
  readonly minCodeVersion: number;
}

/** Tallyman's own schema, or the schema that each simulation run has. */
export type MigrationTarget = "platform" | "run";

const folders: Readonly<Record<MigrationTarget, string>> = {
  platform: fileURLToPath(new URL("../../sql", import.meta.url)),
  run: fileURLToPath(new URL("../../sql/run", import.meta.url)),
};

/** Files beside the migrations that are none. */
const otherFiles: ReadonlySet<string> = new Set(["schema.sql", "roles.sql"]);
const fileNamePattern = /^(\d{3})-[a-z0-9-]+\.sql$/;
const minCodeVersionPattern = /^-- min-code-version: (\d+)$/m;

/** Reads the migrations of a target, in order. A program's level is the last one's number. */
export async function readMigrations(target: MigrationTarget): Promise<Migration[]> {
  const folder = folders[target];
  const files = (await readdir(folder))
    .filter((file) => file.endsWith(".sql") && !otherFiles.has(file))
    .sort();
  const migrations = await Promise.all(files.map((file) => readMigration(folder, file)));
  refuseAmbiguity(migrations);
  return migrations;
}

/** A number that is used twice would leave one of the two files unapplied, and nobody would notice. */
export function refuseAmbiguity(migrations: readonly Migration[]): void {
  const misnamed = migrations.find((migration) => Number.isNaN(migration.version));
  if (misnamed) throw badMigration(`${misnamed.name}.sql is not named like 001-what-it-does.sql`);
  const twice = migrations.find((migration, i) => migration.version === migrations[i - 1]?.version);
  if (twice) throw badMigration(`number ${twice.version} is used twice, also by ${twice.name}.sql`);
}

function badMigration(reason: string): TallymanError {
  return new TallymanError("MIGRATION_FAILED", `The migrations can't be applied: ${reason}.`);
}

async function readMigration(folder: string, file: string): Promise<Migration> {
  const text = await readFile(`${folder}/${file}`, "utf8");
  return {
    version: Number(fileNamePattern.exec(file)?.[1]),
    name: file.replace(/\.sql$/, ""),
    text,
    minCodeVersion: Number(minCodeVersionPattern.exec(text)?.[1] ?? 0),
  };
}
