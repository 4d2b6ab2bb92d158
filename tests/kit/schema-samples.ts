import type { Documented, Parts } from "./http.ts";

/** As much of JSON schema as the API uses. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: boolean | Schema;
}

/** A random number from 0 to below 1. */
export type Random = () => number;

const uuid = "0190e5a2-7a4b-7c11-9d3e-5f6a7b8c9d0e";

/** Texts that have broken systems before. */
export const hostileTexts: readonly string[] = [
  "",
  " ",
  "'; DROP TABLE tallyman.command_bus_command; --",
  "../../../../etc/passwd",
  "..%2f..%2fetc%2fpasswd",
  "<script>alert(1)</script>",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "💥".repeat(50),
  "x".repeat(300),
  "__proto__",
  "constructor",
  "NaN",
  "Infinity",
  "-1",
  "1e309",
  "9223372036854775808",
  "9007199254740993",
  "0x10",
  "null",
  "undefined",
  "true",
  "[object Object]",
  "%s%n%d",
  "{{7*7}}",
  "2030-02-31T00:00:00Z",
  "0000-00-00",
  "\r\nSet-Cookie: a=b",
];

/** The plainest value that a schema allows. */
export function plainest(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return plainest(schema.anyOf[0] ?? {});
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => plainest(part) as object));
  switch (typeOf(schema)) {
    case "string":
      return plainText(schema);
    case "integer":
    case "number":
      return Math.max(schema.minimum ?? 1, Math.min(1, schema.maximum ?? 1));
    case "boolean":
      return true;
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => plainest(schema.items ?? {}));
    case "object":
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, plainest(schema.properties?.[name] ?? {})]),
      );
    default:
      return {};
  }
}

/** A random value: mostly what the schema allows, at times anything at all. */
export function random(schema: Schema, next: Random): unknown {
  if (next() < 0.12) return anything(next);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return pick(schema.enum, next);
  if (schema.anyOf) return random(pick(schema.anyOf, next), next);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => random(part, next) as object));
  switch (typeOf(schema)) {
    case "string":
      return next() < 0.3 ? pick(hostileTexts, next) : plainText(schema);
    case "integer":
      return Math.floor(between(schema, next));
    case "number":
      return between(schema, next);
    case "boolean":
      return next() < 0.5;
    case "array":
      return Array.from({ length: Math.floor(next() * 4) }, () => random(schema.items ?? {}, next));
    case "object":
      return randomObject(schema, next);
    default:
      return anything(next);
  }
}

/** Parts of a plain, valid request for an operation. */
export function plainParts({ operation }: Documented): Parts {
  const of = (place: string) =>
    Object.fromEntries(
      operation.parameters
        .filter((parameter) => parameter.in === place && parameter.required)
        .map(({ name, schema }) => [name, plainest(schema as Schema)]),
    );
  const [content] = Object.values(operation.requestBody?.content ?? {});
  return {
    path: of("path"),
    query: of("query"),
    body: content ? plainest(content.schema as Schema) : undefined,
  };
}

/** Parts of a random request for an operation. */
export function randomParts({ operation }: Documented, next: Random): Parts {
  const of = (place: string) =>
    Object.fromEntries(
      operation.parameters
        .filter((parameter) => parameter.in === place && (parameter.required || next() < 0.5))
        .map(({ name, schema }) => [name, random(schema as Schema, next)]),
    );
  const [content] = Object.values(operation.requestBody?.content ?? {});
  return {
    path: of("path"),
    query: of("query"),
    body: content ? random(content.schema as Schema, next) : undefined,
  };
}

function typeOf({ type, properties }: Schema): string | undefined {
  const [first] = Array.isArray(type) ? type : [type];
  return first ?? (properties ? "object" : undefined);
}

function plainText({ format, minLength = 1, pattern }: Schema): string {
  if (format === "uuid") return uuid;
  if (format === "date-time") return "2030-01-01T00:00:00.000Z";
  return pattern || minLength <= 1 ? "a" : "a".repeat(minLength);
}

function between({ minimum = -10, maximum = 1_000 }: Schema, next: Random): number {
  if (next() < 0.1) return pick([minimum - 1, maximum + 1, 2 ** 53, -(2 ** 63), 0.5], next);
  const top = Math.min(maximum, minimum + 1_000);
  return minimum + next() * (top - minimum);
}

function randomObject(schema: Schema, next: Random): object {
  const names = Object.keys(schema.properties ?? {}).filter(
    (name) => next() < (schema.required?.includes(name) ? 0.95 : 0.4),
  );
  const known = Object.fromEntries(
    names.map((name) => [name, random(schema.properties?.[name] ?? {}, next)]),
  );
  return next() < 0.05 ? { ...known, [pick(hostileTexts, next)]: anything(next) } : known;
}

function anything(next: Random): unknown {
  return pick<unknown>(
    [null, true, 0, -1, 1e300, [], {}, [[]], { a: { b: [1] } }, pick(hostileTexts, next)],
    next,
  );
}

function pick<T>(items: readonly T[], next: Random): T {
  return items[Math.floor(next() * items.length)] as T;
}
