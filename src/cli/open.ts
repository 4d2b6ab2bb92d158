import { LocalCaller } from "../api/index.ts";
import { type Config, type LoadConfigOptions, loadConfig, type OpenOptions, Tallyman } from "../app/index.ts";
import { type Caller, TallymanClient } from "../client/index.ts";
import { TallymanError } from "../errors/index.ts";
import { configureLogging, type LogLevel } from "../runtime/index.ts";
import { type AuditedOptions, ReasonedCaller } from "./audited.ts";
import { operatorName } from "./command-options.ts";
import { untilInterrupted } from "./interrupt.ts";
import type { GlobalOptions } from "./output.ts";
import { RemoteCaller } from "./remote-caller.ts";

/** Actions on many things may take their time; Ctrl+C ends a wait that is too long. */
const callTimeoutMs = 600_000;

/** The flags of commands that serve the HTTP API. */
interface ServerFlags {
  readonly port?: string;
  readonly host?: string;
}

/** Loads the configuration with the command line's flags on top, and sets up logging from it. */
export async function openConfig(
  options: GlobalOptions & ServerFlags,
  more: Pick<LoadConfigOptions, "check"> = {},
): Promise<Config> {
  const { config, databaseUrl, schema, logLevel, port, host } = options;
  const loaded = await loadConfig({ flags: { config, databaseUrl, schema, logLevel, port, host }, ...more });
  const level: LogLevel = options.verbose ? "debug" : loaded.settings.logLevel;
  configureLogging({ level, format: process.stderr.isTTY ? "pretty" : "json" });
  return loaded;
}

/**
 * Opens the configured database, for a command that needs it itself.
 *
 * @throws TallymanError USAGE when the command line, or the environment alone, names a server instead
 */
export async function openTallyman(
  options: GlobalOptions,
  { database, settings: { metricsWindowSeconds } }: Config,
  openOptions: OpenOptions = {},
): Promise<Tallyman> {
  const isServerMeant =
    serverUrl(options) !== undefined && (options.url !== undefined || !process.env.DATABASE_URL);
  if (!isServerMeant) return Tallyman.open(database, { metricsWindowSeconds, ...openOptions });
  throw new TallymanError(
    "USAGE",
    "This command needs the database itself, not a server. Leave out --url and TALLYMAN_URL, and name the database with --database-url, DATABASE_URL or the configuration.",
  );
}

/** Opens Tallyman as configured, runs `work`, and closes it again whatever happens, an interruption included. */
export async function withTallyman<T>(
  options: GlobalOptions,
  work: (tallyman: Tallyman, config: Config) => Promise<T>,
  openOptions: OpenOptions = {},
): Promise<T> {
  const config = await openConfig(options);
  const tallyman = await openTallyman(options, config, openOptions);
  try {
    return await untilInterrupted(work(tallyman, config));
  } finally {
    await tallyman.close();
  }
}

/**
 * Runs `work` with the API of the server that `--url` or TALLYMAN_URL names, else of the configured database. What
 * it throws is a TallymanError either way.
 */
export async function withCaller<T>(
  options: AuditedOptions,
  work: (caller: Caller) => Promise<T>,
): Promise<T> {
  const { operator, reason } = options;
  const reasoned = (caller: Caller) => (reason === undefined ? caller : new ReasonedCaller(caller, reason));
  const url = serverUrl(options);
  if (url === undefined) {
    return withTallyman(options, (tallyman, { server: { redactedFields } }) =>
      work(reasoned(new LocalCaller(tallyman, { actor: operatorName(operator), redactedFields }))),
    );
  }
  if (operator !== undefined) throw operatorOfServer();
  const token = process.env.TALLYMAN_TOKEN || undefined;
  const client = new TallymanClient({ url, timeoutMs: callTimeoutMs, ...(token && { token }) });
  return untilInterrupted(work(reasoned(new RemoteCaller(client))));
}

/** The server to ask; undefined for the configured database. A flag wins over the environment. */
function serverUrl({ url, databaseUrl }: GlobalOptions): string | undefined {
  if (url !== undefined && databaseUrl !== undefined)
    throw new TallymanError("USAGE", "--url names a server, --database-url a database. Keep one of them.");
  const named = url ?? (databaseUrl === undefined ? process.env.TALLYMAN_URL : undefined);
  if (named === undefined || named === "") return undefined;
  if (URL.canParse(named) && isServerUrl(new URL(named))) return named;
  throw new TallymanError(
    "USAGE",
    "--url and TALLYMAN_URL take the address of a server, such as http://127.0.0.1:8082, without user or password. A token goes into TALLYMAN_TOKEN.",
  );
}

function isServerUrl({ protocol, username, password }: URL): boolean {
  return /^https?:$/.test(protocol) && username === "" && password === "";
}

function operatorOfServer(): TallymanError {
  return new TallymanError(
    "USAGE",
    "--operator is for a database. A server writes down the name of your access token.",
  );
}
