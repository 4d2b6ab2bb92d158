import { userInfo } from "node:os";
import { TallymanError } from "../errors/index.ts";

/** The domain of commands that name none. */
export const defaultDomain = "default";

/** Parses the JSON of an option, and says which one it was when it is none. */
export function parseJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TallymanError(
      "USAGE",
      `${option} is not JSON: ${(cause as Error).message}. Example: '{"orderId": 7}'.`,
      {
        cause,
      },
    );
  }
}

/** Parses a whole number of at least `min`. */
export function parseNumber(option: string, text: string, min = 1): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new TallymanError("USAGE", `${option} must be a whole number of at least ${min}, but is '${text}'.`);
}

/** Who acts, for the audit: the one named, or the user of this machine. */
export function operatorName(given?: string): string {
  return given ?? userInfo().username;
}
