import { readFile } from "node:fs/promises";
import { validateSchemaName } from "./schema-names.ts";

const scriptFile = new URL("../../sql/roles.sql", import.meta.url);

/** The name of the schema, and those of the roles that begin with it, in quotes as the script has them. */
const namePattern = /(?<=["'])tallyman(?=(_owner|_app|_pipeline|_read)?["'])/g;
const longestSuffix = "_pipeline";

/**
 * The SQL that makes the roles for a Tallyman in this schema, for an administrator to read and run.
 *
 * @throws TallymanError INVALID_OPTION when the schema's name leaves no room for the roles' names
 */
export async function rolesScript(schema: string): Promise<string> {
  validateSchemaName(`${schema}${longestSuffix}`);
  return (await readFile(scriptFile, "utf8")).replaceAll(namePattern, schema);
}
