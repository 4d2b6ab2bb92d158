import { z } from "zod";
import { configSchema } from "./config-schema.ts";
import type { Problem } from "./problems.ts";
import { camelCase } from "./spelling.ts";
import { entriesOf, isTree, mapEntries, type Path } from "./tree.ts";

/** The part of JSON Schema that describes where the configuration has fixed keys and numbers. */
export interface Shape {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: Shape | false;
}

/** The configuration's shape, read off its schema so that there is one description of it. */
export const configShape = z.toJSONSchema(configSchema, { io: "input" }) as Shape;

/** The shape at a path, or undefined where the configuration leaves the form open. */
export function shapeAt(path: Path): Shape | undefined {
  return path.reduce<Shape | undefined>(
    (shape, key) => shape?.properties?.[String(key)] ?? (shape?.additionalProperties || undefined),
    configShape,
  );
}

/**
 * Brings a tree into the spelling of the schema: fixed keys in camelCase, whole numbers that came as
 * text (from the environment) as numbers, and keys without a value left out, so that a block whose
 * lines are all commented out means its defaults. Names and options that users choose stay as they are.
 */
export function conform(value: unknown, problems: Problem[]): unknown {
  return conformTo(configShape, value, [], problems);
}

function conformTo(shape: Shape, value: unknown, path: Path, problems: Problem[]): unknown {
  if (shape.type === "integer") return wholeNumber(value);
  if (!isTree(value)) return value;
  if (shape.properties) return conformKeys(shape.properties, value, path, problems);
  const inner = shape.additionalProperties || {};
  return mapEntries(value, (item, key) => conformTo(inner, item, [...path, key], problems));
}

function conformKeys(
  properties: Readonly<Record<string, Shape>>,
  value: unknown,
  path: Path,
  problems: Problem[],
): unknown {
  const result = new Map<string, unknown>();
  for (const [spelled, item] of entriesOf(value)) {
    const key = Object.hasOwn(properties, camelCase(spelled)) ? camelCase(spelled) : spelled;
    const keyPath = [...path, key];
    if (item === null && Object.hasOwn(properties, key)) continue;
    if (result.has(key))
      problems.push({ path: keyPath, message: "given in two spellings. Keep one of them." });
    result.set(
      key,
      conformTo((Object.hasOwn(properties, key) && properties[key]) || {}, item, keyPath, problems),
    );
  }
  return Object.fromEntries(result);
}

function wholeNumber(value: unknown): unknown {
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
}
