import { access } from "node:fs/promises";
import { resolve } from "node:path";
import type { KnownTypes } from "./bindings.ts";
import type { Config } from "./config.ts";
import { readConfigFile } from "./config-file.ts";
import { type ConfigFlags, configFileSource, type Environment } from "./config-sources.ts";
import type { Problem as ConfigProblem } from "./problems.ts";
import { resolveConfig } from "./resolve-config.ts";

/** Name of the configuration file that is read when no other is named. */
export const configFileName = "tallyman.config.yaml";

/** Where to look for the configuration, and what to check it against. */
export interface LoadConfigOptions {
  /** Values of command-line flags; they win over everything. Default: none. */
  readonly flags?: ConfigFlags;
  /** Environment variables; they win over the file. Default: `process.env`. */
  readonly environment?: Environment;
  /** Folder to start from. Default: the working directory. */
  readonly directory?: string;
  /** Class names that exist; without them class names are not checked. */
  readonly knownTypes?: KnownTypes;
  /** A further check of the whole; what it finds is reported with its line, like everything else. */
  readonly check?: (config: Config) => readonly ConfigProblem[];
}

/**
 * Loads the configuration: flags over environment over file over defaults, then validated and frozen.
 * Without a file the defaults serve. Reads the file once and keeps no state; safe to call in parallel.
 *
 * @param options - See {@link LoadConfigOptions}.
 * @returns The configuration, frozen to its leaves. Relative paths are made absolute: those of the
 * file and the defaults from the file's folder, those of flags and environment from `directory`.
 * @throws {@link TallymanError} CONFIG_NOT_FOUND when a file was named and does not exist;
 * CONFIG_INVALID with every problem in `details.problems`.
 *
 * @example
 * ```ts
 * const config = await loadConfig({ flags: { schema: "tallyman_test" } });
 * console.log(config.database.schema, config.settings.logLevel);
 * ```
 */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<Config> {
  const { flags = {}, environment = process.env, directory = process.cwd() } = options;
  const { knownTypes = {}, check } = options;
  const path = await findConfigFile({ flags, environment, directory });
  const file = path === undefined ? undefined : await readConfigFile(path, directory);
  return resolveConfig({ file, flags, environment, directory, knownTypes, check });
}

/**
 * The file that {@link loadConfig} reads: the one named by `--config`, else by `TALLYMAN_CONFIG`, else
 * `tallyman.config.yaml` in the folder when it is there. A named file is returned without looking.
 *
 * @returns An absolute path, or undefined when the defaults serve without a file.
 *
 * @example
 * ```ts
 * console.log((await findConfigFile()) ?? "no file: defaults");
 * ```
 */
export async function findConfigFile(
  options: Omit<LoadConfigOptions, "knownTypes" | "check"> = {},
): Promise<string | undefined> {
  const { flags = {}, environment = process.env, directory = process.cwd() } = options;
  const named = flags[configFileSource.flag] ?? (environment[configFileSource.variable] || undefined);
  if (named !== undefined) return resolve(directory, String(named));
  const path = resolve(directory, configFileName);
  return access(path).then(
    () => path,
    () => undefined,
  );
}
