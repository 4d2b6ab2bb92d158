import { TallymanError } from "../errors/index.ts";

/** The schema of Tallyman's own tables, and the name that stands for it in every statement. */
export const defaultSchema = "tallyman";

/** PostgreSQL cuts longer names silently, which could make two of them one. */
const nameBytesMax = 63;
const schemaPattern = /^[a-z_][a-z0-9_]*$/;

/** Quotes an identifier for SQL text. Only names that passed a strict pattern ever get here. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Checks a configured schema name. */
export function validateSchemaName(name: string): string {
  if (schemaPattern.test(name) && name.length <= nameBytesMax && !name.startsWith("pg_")) return name;
  throw new TallymanError(
    "INVALID_OPTION",
    `'${name}' can't be a schema name: use lower-case letters, digits and '_', not beginning with 'pg_', at most ${nameBytesMax} characters.`,
    { details: { option: "schema", value: name } },
  );
}

/** Statements are few and fixed; the bound only guards against text built in a loop. */
const cachedTextsMax = 2000;
const cachedRunsMax = 1000;

/**
 * Puts real schema names in place of the two that statements are written with: `tallyman.` and
 * `sim.`. Session state (`SET search_path`) would not survive a PgBouncer in transaction mode.
 */
export class SchemaNames {
  readonly schema: string;
  readonly runSchema: string | undefined;
  readonly #texts = new Map<string, string>();
  readonly #runs = new Map<string, SchemaNames>();

  constructor(schema: string, runSchema?: string) {
    this.schema = validateSchemaName(schema);
    this.runSchema = runSchema;
  }

  /** The names for statements on one run's tables; the same object for the same run. */
  forRun(runSchema: string): SchemaNames {
    const known = this.#runs.get(runSchema) ?? new SchemaNames(this.schema, runSchema);
    if (this.#runs.size >= cachedRunsMax) this.#runs.clear();
    this.#runs.set(runSchema, known);
    return known;
  }

  rewrite(text: string): string {
    if (this.schema === defaultSchema && this.runSchema === undefined) return text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const rewritten = this.#replace(text);
    if (this.#texts.size >= cachedTextsMax) this.#texts.clear();
    this.#texts.set(text, rewritten);
    return rewritten;
  }

  #replace(text: string): string {
    const own = text.replaceAll(/\btallyman\./g, `${quoteIdentifier(this.schema)}.`);
    if (this.runSchema === undefined) return own;
    return own.replaceAll(/\bsim\./g, `${quoteIdentifier(this.runSchema)}.`);
  }
}
