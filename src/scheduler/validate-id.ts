import { TallymanError } from "../errors/index.ts";

/** Ids of workers and coordinators appear in URLs, logs and labels: printable, without spaces. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$/;

/** The pattern as text, for JSON schemas. */
export const idPatternText: string = idPattern.source;

/**
 * Refuses an id that is no id.
 *
 * @throws TallymanError INVALID_OPTION naming the field
 */
export function checkId(field: string, id: string): void {
  if (typeof id === "string" && idPattern.test(id)) return;
  throw new TallymanError(
    "INVALID_OPTION",
    `Option '${field}' must be 1 to 200 letters, digits, '.', '_', ':', '@' or '-', beginning with a letter or digit.`,
    { details: { option: field } },
  );
}
