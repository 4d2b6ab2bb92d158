import { createHash } from "node:crypto";
import { TallymanError } from "../errors/index.ts";
import type { Database, RunDatabase } from "./database.ts";
import { readMigrations } from "./migrations.ts";
import { migrateSchema } from "./migrator.ts";
import { findRun, registerRun } from "./sql/simulation-run.ts";

/** Ids of runs, as the text of a regular expression. */
export const runIdPatternText = "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$";
const runIdPattern = new RegExp(runIdPatternText);
/** Ids that '-' → '_' maps to distinct names by itself. */
const plainRunIdPattern = /^[a-z0-9][a-z0-9-]{0,57}$/;
const slugCharactersMax = 40;

/** Checks the id of a simulation run. */
export function validateRunId(runId: string): string {
  if (typeof runId === "string" && runIdPattern.test(runId)) return runId;
  throw new TallymanError(
    "RUN_ID_INVALID",
    `${JSON.stringify(String(runId).slice(0, 120))} can't be a run id: use letters, digits, '-' and '_', beginning with a letter or digit, at most 100 characters.`,
    { details: { runId: String(runId).slice(0, 120) } },
  );
}

/**
 * The schema of a run's tables: `sim_<slug>`. Ids that would be cut or folded into one name carry a
 * hash under another prefix, so that two runs never share a schema.
 */
export function runSchemaName(runId: string): string {
  validateRunId(runId);
  const slug = runId.toLowerCase().replaceAll("-", "_");
  if (plainRunIdPattern.test(runId)) return `sim_${slug}`;
  const hash = createHash("sha256").update(runId).digest("hex").slice(0, 16);
  return `simh_${slug.slice(0, slugCharactersMax)}_${hash}`;
}

/**
 * The tables of a run that is known; never makes any.
 *
 * @throws TallymanError RUN_ID_INVALID, RUN_NOT_FOUND
 */
export async function openRun(database: Database, runId: string): Promise<RunDatabase> {
  const run = await findRun(database, validateRunId(runId));
  if (!run) throw runNotFound(runId);
  return database.forRun(run.schemaName);
}

/** The database knows no such run. */
export function runNotFound(runId: string): TallymanError {
  return new TallymanError(
    "RUN_NOT_FOUND",
    `The database knows no run '${runId}'. List the known ones with 'tallyman run list'.`,
    { details: { runId } },
  );
}

const ensuredSchemas = new WeakMap<Database, Map<string, Promise<void>>>();

/**
 * Makes or upgrades the schema of a run and enters the run in the register, once per process and
 * run; later calls cost nothing. Safe when many processes race.
 *
 * @returns the schema's name, for {@link Transaction.forRun} and {@link Database.forRun}
 * @throws TallymanError RUN_ID_INVALID
 */
export async function ensureRunSchema(database: Database, runId: string): Promise<string> {
  const schema = runSchemaName(runId);
  const ensured = ensuredSchemas.get(database) ?? new Map<string, Promise<void>>();
  ensuredSchemas.set(database, ensured);
  const ensuring = ensured.get(runId) ?? createRunSchema(database, runId, schema);
  ensured.set(runId, ensuring);
  ensuring.catch(() => ensured.delete(runId));
  await ensuring;
  return schema;
}

async function createRunSchema(database: Database, runId: string, schema: string): Promise<void> {
  await migrateSchema(database, { schema, placeholder: "sim" }, await readMigrations("run"));
  await registerRun(database, runId, schema);
}
