import { TallymanError } from "../errors/index.ts";

/** Checks a connection string and takes it apart; the message never shows the password. */
export function parseDatabaseUrl(url: string): URL {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (cause) {
    throw invalid("it is not a URL", cause);
  }
  if (parsed.protocol !== "postgres:" && parsed.protocol !== "postgresql:") {
    throw invalid(`it begins with '${parsed.protocol}'`);
  }
  return parsed;
}

/** From the colon after the user to the last '@': people forget to escape '@' and '/' in a password. */
const passwordPart = /(:\/\/[^:@/]*):[\s\S]*@/;

/** The connection string with its password hidden, for messages and logs. */
export function redactUrl(url: string): string {
  try {
    const parsed = new URL(url.replace(passwordPart, "$1:***@"));
    if (parsed.searchParams.has("password")) parsed.searchParams.set("password", "***");
    return parsed.toString();
  } catch {
    return "(not a URL)";
  }
}

function invalid(reason: string, cause?: unknown): TallymanError {
  // The cause of an unparsable URL quotes it whole, password and all: keep only its code.
  const code = (cause as { code?: string } | undefined)?.code;
  return new TallymanError(
    "DATABASE_URL_INVALID",
    `The database URL can't be used: ${reason}. Write postgres://user:password@host:5432/name, or unset DATABASE_URL for the embedded server.`,
    { details: code === undefined ? {} : { reason: code } },
  );
}
