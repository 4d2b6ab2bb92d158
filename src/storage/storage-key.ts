import { validateRunId } from "../database/index.ts";
import { isTallymanError, TallymanError } from "../errors/index.ts";

const keyCharactersMax = 512;
const segmentsMax = 16;

/** Only what is the same name on every file system and in every URL; no dot at either end. */
const segmentPattern = /^[A-Za-z0-9_-](?:[A-Za-z0-9._-]{0,198}[A-Za-z0-9_-])?$/;
/** Devices on Windows, whatever extension follows. */
const reservedPattern = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * Checks a storage key: a run id, then at least one plain name, joined by '/'. The list of allowed
 * characters is short on purpose: with no '..', no empty segment, no backslash, no '%' and no control
 * character there is nothing to decode, normalise or escape, on any platform.
 *
 * @throws TallymanError STORAGE_KEY_INVALID
 */
export function validateKey(key: string): string {
  const fault = faultOf(key);
  if (fault === undefined) return key;
  const shown = JSON.stringify(String(key).slice(0, 120));
  throw new TallymanError("STORAGE_KEY_INVALID", `${shown} can't be a storage key: ${fault}.`, {
    details: { key: String(key).slice(0, 120) },
  });
}

/** The run that a valid key belongs to. */
export function runIdOfKey(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

function faultOf(key: unknown): string | undefined {
  if (typeof key !== "string") return "it is not text";
  if (key.length > keyCharactersMax) return `it is longer than ${keyCharactersMax} characters`;
  const segments = key.split("/");
  const [runId = "", ...names] = segments;
  if (!isRunId(runId)) return "it must begin with a run id";
  if (names.length === 0 || segments.length > segmentsMax) return `it must have 2 to ${segmentsMax} parts`;
  const bad = segments.find((segment) => !segmentPattern.test(segment) || reservedPattern.test(segment));
  return bad === undefined ? undefined : `the part ${JSON.stringify(bad)} is not a plain name`;
}

/** True for a text that can be a run id. */
export function isRunId(text: string): boolean {
  try {
    validateRunId(text);
    return true;
  } catch (error) {
    if (isTallymanError(error, "RUN_ID_INVALID")) return false;
    throw error;
  }
}
