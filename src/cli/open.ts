import { type Config, type LoadConfigOptions, loadConfig, type OpenOptions, Tallyman } from "../app/index.ts";
import { configureLogging, type LogLevel } from "../runtime/index.ts";
import { untilInterrupted } from "./interrupt.ts";
import type { GlobalOptions } from "./output.ts";

/** Loads the configuration with the command line's flags on top, and sets up logging from it. */
export async function openConfig(
  options: GlobalOptions,
  more: Pick<LoadConfigOptions, "check"> = {},
): Promise<Config> {
  const { config, databaseUrl, schema, logLevel } = options;
  const loaded = await loadConfig({ flags: { config, databaseUrl, schema, logLevel }, ...more });
  const level: LogLevel = options.verbose ? "debug" : loaded.settings.logLevel;
  configureLogging({ level, format: process.stderr.isTTY ? "pretty" : "json" });
  return loaded;
}

/** Opens Tallyman as configured, runs `work`, and closes it again whatever happens, an interruption included. */
export async function withTallyman<T>(
  options: GlobalOptions,
  work: (tallyman: Tallyman, config: Config) => Promise<T>,
  openOptions: OpenOptions = {},
): Promise<T> {
  const config = await openConfig(options);
  const tallyman = await Tallyman.open(config.database, openOptions);
  try {
    return await untilInterrupted(work(tallyman, config));
  } finally {
    await tallyman.close();
  }
}
