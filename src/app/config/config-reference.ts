import { configShape, type Shape } from "./config-shape.ts";
import { configFileSource, flagName, settingSources } from "./config-sources.ts";

/** One row of the settings page. */
export interface ConfigReferenceRow {
  /** Path in the file; `<name>` stands for a name that the user chooses. Empty for the file itself. */
  readonly path: string;
  /** What it takes, for people: `text`, `whole number, 1 to 1000`, `one of …`. */
  readonly type: string;
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
    type: "text",
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
    type: typeOf(shape),
    description: shape.description ?? "",
    ...(shape.default === undefined ? {} : { default: shape.default }),
    ...(source && { variable: source.variable, flag: flagName(source.flag) }),
  };
}

const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  boolean: "true or false",
  array: "list of texts",
  object: "values by name",
};

function typeOf({ type = "", enum: choices, minimum, maximum = Number.MAX_SAFE_INTEGER }: Shape): string {
  if (choices) return `one of ${choices.join(", ")}`;
  if (type !== "integer") return typeNames[type] ?? type;
  const upTo = maximum === Number.MAX_SAFE_INTEGER ? "or more" : `to ${maximum}`;
  return `whole number, ${minimum} ${upTo}`;
}
