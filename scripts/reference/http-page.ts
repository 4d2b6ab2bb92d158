import { Tallyman } from "../../src/app/index.ts";
import { type ErrorCode, errorCatalogue } from "../../src/errors/index.ts";
import { createServer } from "../../src/server/index.ts";
import type { OpenApiDocument, Operation, Parameter } from "../../src/server/openapi.ts";
import { setup } from "../../src/testing/index.ts";
import { block, code, page, table } from "./markdown.ts";
import { type JsonSchema, limitsText, typeText } from "./type-text.ts";

/** Codes that any route may answer with. */
const commonCodes: readonly ErrorCode[] = [
  "REQUEST_INVALID",
  "TOKEN_REQUIRED",
  "ROLE_INSUFFICIENT",
  "REQUEST_FORBIDDEN",
  "ROUTE_NOT_FOUND",
  "REQUEST_TOO_LARGE",
  "TOO_MANY_REQUESTS",
  "DATABASE_UNREACHABLE",
  "DATABASE_POOL_EXHAUSTED",
  "INTERNAL",
];

/** Codes that routes of a tag may answer with beside the common ones. */
const tagCodes: Readonly<Record<string, readonly ErrorCode[]>> = {
  overview: [],
  domains: [
    "COMMAND_NOT_FOUND",
    "COMMAND_DUPLICATE",
    "COMMAND_INVALID",
    "COMMAND_TOO_LARGE",
    "INVALID_OPERATION",
    "BATCH_NOT_FOUND",
    "BATCH_SEALED",
    "BATCH_EMPTY",
    "IDEMPOTENCY_KEY_REUSED",
  ],
  batches: [
    "BATCH_NOT_FOUND",
    "BATCH_SEALED",
    "BATCH_EMPTY",
    "COMMAND_DUPLICATE",
    "COMMAND_INVALID",
    "COMMAND_TOO_LARGE",
    "INVALID_OPERATION",
    "IDEMPOTENCY_KEY_REUSED",
  ],
  tsq: ["COMMAND_NOT_FOUND", "INVALID_OPERATION"],
  replies: [],
  audit: [],
  coordinator: ["SCHEDULER_COORDINATOR_NOT_FOUND", "SCHEDULER_COORDINATOR_REPLACED", "SCHEDULER_NO_LEADER"],
  coordinators: [],
  "scheduler-workers": [
    "SCHEDULER_WORKER_NOT_FOUND",
    "SCHEDULER_WORKER_ID_TAKEN",
    "SCHEDULER_WORKER_REPLACED",
  ],
  segments: ["SCHEDULER_WORKER_NOT_FOUND", "SCHEDULER_NO_LEADER"],
  jobs: ["JOB_NOT_FOUND", "JOB_EXISTS", "JOB_INVALID", "IDEMPOTENCY_KEY_REUSED"],
  topics: ["TOPIC_NOT_FOUND", "TOPIC_GROUP_NOT_FOUND"],
  services: ["SERVICE_UNKNOWN", "SERVICE_AMBIGUOUS", "SERVICE_WRONG_STATE", "TIMED_OUT"],
  runs: ["RUN_NOT_FOUND", "INDEXER_NOT_FOUND", "TICK_NOT_INDEXED", "ORGANISM_NOT_FOUND", "TOPIC_NOT_FOUND"],
  actions: [],
  tokens: ["TOKEN_NOT_FOUND", "IDEMPOTENCY_KEY_REUSED"],
  healthz: [],
  readyz: ["NOT_READY"],
  metrics: [],
  session: [],
  events: [],
};

/** Every route, from the OpenAPI document that a running server serves. */
export async function httpPage(): Promise<string> {
  const { info, paths } = await servedDocument();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const byTag = new Map<string, typeof operations>();
  for (const each of operations) {
    const [tag = ""] = each.operation.tags;
    byTag.set(tag, [...(byTag.get(tag) ?? []), each]);
  }
  return page(
    "HTTP API",
    "the OpenAPI document",
    "A running server (`tallyman up`) has the same at `/docs`, and the OpenAPI 3.1 document at `/openapi.json`. `tallyman/client` is a typed client.",
    info.description,
    "Send a token as `Authorization: Bearer <token>`; each route names the least role that may use it (`read` < `operate` < `admin`). On loopback no token is asked for until there is one. `Idempotency-Key` on a creating call: the same key again answers as before and creates nothing.",
    `Routes: ${[...byTag.keys()].map((tag) => `[${tag}](#${tag})`).join(", ")}.`,
    "Any route may fail with one of these, a group of routes also with the codes that stand under its heading; all are explained in [errors](../errors.md).",
    table(
      ["code", "HTTP", "what happened"],
      commonCodes.map((each) => [code(each), `${errorCatalogue[each].status}`, errorCatalogue[each].meaning]),
    ),
    ...[...byTag].flatMap(([tag, entries]) => [
      `## ${tag}`,
      codesOf(tag),
      ...entries.flatMap(({ path, method, operation }) => section(path, method, operation)),
    ]),
  );
}

async function servedDocument(): Promise<OpenApiDocument> {
  await using t = await setup();
  await using tallyman = await Tallyman.connect({ database: t.url });
  await using server = createServer(tallyman, { port: 0 });
  await server.start();
  const answer = await fetch(`${server.url}/openapi.json`);
  return (await answer.json()) as OpenApiDocument;
}

function codesOf(tag: string): string {
  const codes = tagCodes[tag];
  if (!codes) throw new Error(`scripts/reference/http-page.ts does not know the codes of '${tag}'`);
  return codes.length === 0
    ? ""
    : `Codes: ${codes.map((each) => `${code(each)} (${errorCatalogue[each].status})`).join(", ")}.`;
}

function section(path: string, method: string, operation: Operation): string[] {
  const { summary, parameters, requestBody, responses } = operation;
  const answers = contentOf(responses["200"] ?? {});
  return [
    `### ${method.toUpperCase()} ${path}`,
    `${summary}. Role: ${operation["x-role"]}.`,
    parameterTable(parameters),
    ...Object.entries(contentOf(requestBody ?? {})).map(([type, { schema }]) =>
      labelled(type === "application/json" ? "Body" : `Body, ${type}, one per line`, schema),
    ),
    ...Object.entries(answers).map(([type, { schema }]) =>
      type === "application/json" ? labelled("Data", dataOf(schema)) : `Answer: \`${type}\`.`,
    ),
  ];
}

function contentOf(holder: object): Readonly<Record<string, { readonly schema: JsonSchema }>> {
  return (holder as { content?: Record<string, { schema: JsonSchema }> }).content ?? {};
}

function dataOf(schema: JsonSchema): JsonSchema {
  return schema.properties?.data ?? schema;
}

function labelled(label: string, schema: JsonSchema): string {
  return `${label}:\n\n${block("text", typeText(schema))}`;
}

function parameterTable(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(({ name, in: place, required, schema }) => [
    code(name),
    `${place}${required && place !== "path" ? ", required" : ""}`,
    code(typeText(schema as JsonSchema)),
    limitsText(schema as JsonSchema),
    code((schema as JsonSchema).default),
    (schema as JsonSchema).description ?? "",
  ]);
  return table(["parameter", "in", "type", "limits", "default", "meaning"], rows);
}
