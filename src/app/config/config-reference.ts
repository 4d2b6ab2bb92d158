import { configShape, type Shape } from "./config-shape.ts";
import { configFileSource, flagName, settingSources } from "./config-sources.ts";

/** One row of the settings page. */
export interface ConfigReferenceRow {
  /** Path in the file; `<name>` stands for a name that the user chooses. Empty for the file itself. */
  readonly path: string;
  readonly description: string;
  readonly default?: unknown;
  /** Environment variable that overrides the file. */
  readonly variable?: string;
  /** Flag that overrides both. */
  readonly flag?: string;
}

/**
 * Every setting with its default, environment variable, flag and description, read off the schema and
 * the table that the loader itself uses; documentation made from it can't go stale.
 *
 * @example
 * ```ts
 * for (const row of configReference()) console.log(row.path, row.variable ?? "", row.description);
 * ```
 */
export function configReference(): readonly ConfigReferenceRow[] {
  const file: ConfigReferenceRow = {
    path: "",
    description: "Path of the configuration file.",
    default: "tallyman.config.yaml",
    variable: configFileSource.variable,
    flag: flagName(configFileSource.flag),
  };
  return [file, ...rowsOf(configShape, "")];
}

function rowsOf(shape: Shape, path: string): ConfigReferenceRow[] {
  const inner = shape.additionalProperties;
  if (shape.properties) {
    return Object.entries(shape.properties).flatMap(([key, value]) =>
      rowsOf(value, path ? `${path}.${key}` : key),
    );
  }
  if (inner && "properties" in inner) return rowsOf(inner, `${path}.<name>`);
  return [rowOf(shape, path)];
}

function rowOf(shape: Shape, path: string): ConfigReferenceRow {
  const source = settingSources.find((candidate) => candidate.path === path);
  return {
    path,
    description: shape.description ?? "",
    ...(shape.default === undefined ? {} : { default: shape.default }),
    ...(source && { variable: source.variable, flag: flagName(source.flag) }),
  };
}
