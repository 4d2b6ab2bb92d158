import { z } from "zod";
import { configSchema } from "./config-schema.ts";
import { kebabCase } from "./spelling.ts";
import { isTree, type Tree } from "./tree.ts";

/** What may stand in place of a restricted value: a reference, replaced when the file is loaded. */
const reference = { type: "string", pattern: "^\\$\\{.+\\}$" };

/**
 * The JSON Schema of the configuration file, for completion and checks in editors. Beside the schema's
 * own keys it knows what the loader also takes: keys in kebab-case, `${NAME}` in place of a number,
 * a choice or a name, and blocks left empty.
 *
 * @returns A new document on every call.
 *
 * @example
 * ```ts
 * await writeFile("docs/config.schema.json", JSON.stringify(configJsonSchema(), null, 2));
 * ```
 */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(configSchema, { io: "input" });
  return { $schema, title: "Configuration of Tallyman", ...widen(schema) };
}

function widen(schema: Tree): Tree {
  if (schema.type === "integer" || schema.enum || schema.pattern) return widenScalar(schema);
  if (isTree(schema.properties)) return widenBlock(schema, schema.properties);
  const inner = schema.additionalProperties;
  return isTree(inner) ? { ...schema, type: ["object", "null"], additionalProperties: widen(inner) } : schema;
}

function widenScalar({ description, default: defaultValue, ...constraints }: Tree): Tree {
  return { description, default: defaultValue, anyOf: [constraints, reference] };
}

function widenBlock(schema: Tree, properties: Tree): Tree {
  const spellings = Object.entries(properties).flatMap(([key, inner]) => {
    const widened = widen(inner as Tree);
    return kebabCase(key) === key
      ? [[key, widened]]
      : [
          [key, widened],
          [kebabCase(key), widened],
        ];
  });
  return { ...schema, type: ["object", "null"], properties: Object.fromEntries(spellings) };
}
