/**
 * Errors: one base class, one catalogue.
 *
 * Every failure that a user can meet has a stable code. The code decides the HTTP status, the exit
 * code of the CLI and the row on the errors page; the message says what happened, to what, and what
 * to do about it. Expected outcomes inside the code (a lost claim, a stale token, a duplicate) are
 * values in a union; they become errors only at the public edge.
 */
export { type CatalogueEntry, type ErrorCode, errorCatalogue, exitCodes } from "./catalogue.ts";
export { closest, didYouMean } from "./did-you-mean.ts";
export {
  isTallymanError,
  TallymanError,
  type TallymanErrorOptions,
  toTallymanError,
} from "./tallyman-error.ts";
