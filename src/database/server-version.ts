import { TallymanError } from "../errors/index.ts";

/** The oldest server that the statements are written for. */
const majorVersionMin = 15;

/** Throws DATABASE_VERSION_UNSUPPORTED for a server that is too old. */
export function refuseOldServer(version: string): void {
  if (Number.parseInt(version, 10) >= majorVersionMin) return;
  throw new TallymanError(
    "DATABASE_VERSION_UNSUPPORTED",
    `The server is PostgreSQL ${version}; Tallyman needs ${majorVersionMin} or newer. Upgrade it, or unset DATABASE_URL for the embedded server.`,
    { details: { found: version, needed: majorVersionMin } },
  );
}
