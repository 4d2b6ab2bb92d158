import type { Problem } from "./problems.ts";
import { entriesOf, type Tree, valueAt, withoutValue, withValue } from "./tree.ts";

/**
 * The settings that the environment and the command line can override, and by which name: flags win
 * over the environment, the environment over the file, the file over the defaults.
 */
export const settingSources = [
  { path: "database.url", variable: "DATABASE_URL", flag: "databaseUrl" },
  { path: "database.listenUrl", variable: "DATABASE_LISTEN_URL", flag: "databaseListenUrl" },
  { path: "database.embedded.folder", variable: "TALLYMAN_EMBEDDED_FOLDER", flag: "embeddedFolder" },
  { path: "database.embedded.port", variable: "TALLYMAN_EMBEDDED_PORT", flag: "embeddedPort" },
  { path: "database.schema", variable: "TALLYMAN_SCHEMA", flag: "schema" },
  { path: "database.maxPoolSize", variable: "TALLYMAN_MAX_POOL_SIZE", flag: "maxPoolSize" },
  { path: "settings.logLevel", variable: "TALLYMAN_LOG_LEVEL", flag: "logLevel" },
  {
    path: "settings.metricsWindowSeconds",
    variable: "TALLYMAN_METRICS_WINDOW_SECONDS",
    flag: "metricsWindowSeconds",
  },
  { path: "server.host", variable: "TALLYMAN_HOST", flag: "host" },
  { path: "server.port", variable: "TALLYMAN_PORT", flag: "port" },
  { path: "runId", variable: "TALLYMAN_RUN_ID", flag: "runId" },
] as const;

/** How the configuration file itself is named from outside. */
export const configFileSource = { variable: "TALLYMAN_CONFIG", flag: "config" } as const;

/** Values of command-line flags, by the flag's name in camelCase: `--database-url` is `databaseUrl`. */
export type ConfigFlags = Readonly<
  Partial<
    Record<
      (typeof settingSources)[number]["flag"] | (typeof configFileSource)["flag"],
      string | number | undefined
    >
  >
>;

/** Variables by name, in the form of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What one layer says, and for each path the name that the user knows it by. */
export interface Layer {
  readonly tree: Tree;
  readonly sources: ReadonlyMap<string, string>;
}

/** The layer of the environment. An empty variable counts as unset, as in most shells' scripts. */
export function environmentLayer(environment: Environment): Layer {
  return layerOf(({ variable }) => [variable, environment[variable] || undefined]);
}

/** The layer of the command line. */
export function flagLayer(flags: ConfigFlags): Layer {
  return layerOf(({ flag }) => [flagName(flag), flags[flag]]);
}

/** `databaseUrl` as it is typed: `--database-url`. */
export function flagName(flag: string): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

type Source = (typeof settingSources)[number];

function layerOf(read: (source: Source) => [name: string, value: string | number | undefined]): Layer {
  const sources = new Map<string, string>();
  let tree: unknown = {};
  for (const source of settingSources) {
    const [name, value] = read(source);
    if (value === undefined) continue;
    tree = withValue(tree, source.path.split("."), value);
    sources.set(source.path, name);
  }
  return { tree: tree as Tree, sources };
}

/** Lays one layer over another. A url above hides an embedded server below, and the other way round. */
export function mergeLayers(lower: Layer, upper: Layer): Layer {
  let tree: unknown = lower.tree;
  if (valueAt(upper.tree, urlPath) !== undefined) tree = withoutValue(tree, embeddedPath);
  if (valueAt(upper.tree, embeddedPath) !== undefined) tree = withoutValue(tree, urlPath);
  for (const path of upper.sources.keys()) {
    tree = withValue(tree, path.split("."), valueAt(upper.tree, path.split(".")));
  }
  return { tree: tree as Tree, sources: new Map([...lower.sources, ...upper.sources]) };
}

const urlPath = ["database", "url"];
const embeddedPath = ["database", "embedded"];

/** A url beside an embedded server after merging: they came from one layer, and nothing says which is meant. */
export function databaseProblems(tree: Tree): Problem[] {
  const embedded = valueAt(tree, embeddedPath);
  if (valueAt(tree, urlPath) === undefined || embedded === undefined) return [];
  const inner = entriesOf(embedded)[0]?.[0];
  const path = inner === undefined ? embeddedPath : [...embeddedPath, inner];
  return [{ path, message: "both a database url and an embedded server are given. Keep one of them." }];
}
