import { readFileSync } from "node:fs";
import { keyLettersMax, type RouteSpec } from "../api/index.ts";
import { Failure, successOf } from "./envelope.ts";
import { binaryContentType, isImport } from "./serve-routes.ts";

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

/** An OpenAPI document, as far as it is read here. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: object;
}

/** One method of one path. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly "x-role": string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, object>>;
  readonly security: readonly object[];
}

/** A part of the path or the query, or a header. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: object;
}

type Documented = RouteSpec & { readonly isRaw?: boolean; readonly isCreating?: boolean };

/** The API as an OpenAPI 3.1 document, read off its routes. */
export function openApiDocument(routes: Readonly<Record<string, Documented>>): OpenApiDocument {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const [key, route] of Object.entries(routes)) {
    const [method = "GET", path = "/"] = key.split(" ");
    const documented = path.replace(/:(\w+)/g, "{$1}");
    paths[documented] = { ...paths[documented], [method.toLowerCase()]: operationOf(method, path, route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Tallyman",
      version: packageVersion(),
      description:
        "Answers are `{ success: true, data }` or `{ success: false, error: { code, message, details } }`. Lists come in pages: ask again with `cursor` until `nextCursor` is null.",
    },
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Failure },
    },
  };
}

const idempotencyKey: Parameter = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  schema: { type: "string", minLength: 1, maxLength: keyLettersMax },
};

function operationOf(method: string, path: string, route: Documented): Operation {
  const { summary, role, params, query, body, isCreating } = route;
  const hasBody = body !== undefined && method !== "GET" && method !== "DELETE";
  return {
    operationId: operationIdOf(method, path),
    summary,
    tags: [path.split("/").find((part) => part !== "" && part !== "api") ?? "api"],
    "x-role": role,
    parameters: [
      ...parametersOf("path", params),
      ...parametersOf("query", query),
      ...(isCreating ? [idempotencyKey] : []),
    ],
    ...(hasBody && { requestBody: bodyOf(route) }),
    responses: responsesOf(route),
    security: role === "anyone" ? [] : [{ token: [] }],
  };
}

function parametersOf(place: "path" | "query", schema: object | undefined): Parameter[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: property,
  }));
}

function bodyOf({ body, ...route }: Documented) {
  const isNdjson = isImport({ body, ...route } as RouteSpec);
  const schema = (isNdjson ? (body as { items?: object }).items : body) ?? {};
  return {
    required: true,
    content: { [isNdjson ? "application/x-ndjson" : "application/json"]: { schema } },
  };
}

function responsesOf({ data, isRaw, binary }: Documented) {
  const failure = { content: { "application/json": { schema: { $ref: "#/components/schemas/Failure" } } } };
  const content = isRaw
    ? { [(data as { "x-content-type"?: string })["x-content-type"] ?? "text/plain"]: { schema: data } }
    : { "application/json": { schema: successOf(data) } };
  return {
    200: { description: "Done", content: { ...content, ...(binary && bytesOf(binary)) } },
    "4XX": { description: "The request can't be done; `error.code` says why", ...failure },
    "5XX": { description: "The server can't do it now", ...failure },
  };
}

function bytesOf({ description }: { readonly description: string }) {
  return { [binaryContentType]: { schema: { type: "string", format: "binary", description } } };
}

/** `POST /api/tsq/retry` becomes `postTsqRetry`. */
function operationIdOf(method: string, path: string): string {
  const words = path.split(/[/:_-]/).filter((part) => part !== "" && part !== "api");
  return [method.toLowerCase(), ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join(
    "",
  );
}

function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
