import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { nothing, type Route, type RouteContext, type RouteRequest, type RouteSpec } from "../api/index.ts";
import type { Caller } from "../operators/index.ts";
import { type Authentication, refuseLesserRole } from "./authenticate.ts";
import { Failure, successOf } from "./envelope.ts";
import { SharedReads } from "./shared-reads.ts";

/** A route that is about HTTP itself: cookies, streams, texts. What it returns is the answer's data. */
export interface ServedRoute extends RouteSpec {
  /** True when it writes the answer by itself. */
  readonly isRaw?: boolean;
  handle(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

/** Such routes, by method and path. */
export type ServedRoutes = Readonly<Record<string, ServedRoute>>;

interface ServeOptions {
  readonly api: Readonly<Record<string, Route>>;
  readonly own: ServedRoutes;
  readonly context: RouteContext;
  readonly authentication: Authentication;
  readonly importBytesMax: number;
}

/** Puts every route on the server: access by its role, schemas for what comes and goes, the envelope around data. */
export function serveRoutes(
  app: FastifyInstance,
  { api, own, context, authentication, importBytesMax }: ServeOptions,
): void {
  const reads = new SharedReads();
  for (const [key, route] of Object.entries(api)) {
    const bodyLimit = isImport(route) ? { bodyLimit: importBytesMax } : {};
    add(app, key, route, { authentication, bodyLimit }, (request, caller) => {
      const run = () => route.run(context, toRouteRequest(request, caller));
      return request.method === "GET" ? reads.share(`${caller.tokenId} ${request.url}`, run) : run();
    });
  }
  for (const [key, route] of Object.entries(own))
    add(app, key, route, { authentication, bodyLimit: {} }, (request, _caller, reply) =>
      route.handle(request, reply),
    );
}

function toRouteRequest(request: FastifyRequest, caller: Caller): RouteRequest {
  return {
    params: request.params,
    query: request.query,
    body: request.body ?? {},
    caller,
    requestId: request.id,
    headers: request.headers as Record<string, string | undefined>,
  };
}

/** Of answers that are bytes. */
export const binaryContentType = "application/octet-stream";

type Handle = (request: FastifyRequest, caller: Caller, reply: FastifyReply) => Promise<unknown>;

function add(
  app: FastifyInstance,
  key: string,
  route: RouteSpec & { readonly isRaw?: boolean },
  { authentication, bodyLimit }: { authentication: Authentication; bodyLimit: { bodyLimit?: number } },
  handle: Handle,
): void {
  const [method = "GET", url = "/"] = key.split(" ");
  const { role } = route;
  const callers = new WeakMap<FastifyRequest, Caller>();
  app.route({
    method,
    url,
    ...bodyLimit,
    schema: schemaOf(route, method),
    // Before the body is read: who may not call this sends nothing.
    onRequest: async (request) => {
      if (role === "anyone") return;
      const caller = await authentication.callerOf(request);
      refuseLesserRole(caller, role);
      callers.set(request, caller);
    },
    // Who has nothing to say about it need not say so: `curl -X POST …/pause` is enough.
    preValidation: async (request) => {
      if (route.body && request.body === undefined) request.body = {};
    },
    handler: async (request, reply) => {
      const caller = callers.get(request) ?? anyone;
      const data = await handle(request, caller, reply);
      if (route.binary && (request.query as { format?: string }).format === "binary")
        return reply.type(binaryContentType).send(Buffer.from(route.binary.encode(data)));
      return route.isRaw ? data : { success: true, data };
    },
  });
}

const anyone: Caller = {
  actor: "anyone",
  role: "read",
  canViewPayloads: false,
  tokenId: null,
  isSession: false,
};

function schemaOf(
  { params, query, body, data, isRaw }: RouteSpec & { readonly isRaw?: boolean },
  method: string,
) {
  return {
    params: params ?? nothing,
    querystring: query ?? nothing,
    ...(method !== "GET" && method !== "DELETE" && body && { body }),
    ...(!isRaw && { response: { 200: successOf(data), "4xx": Failure, "5xx": Failure } }),
  };
}

/** Whether a route takes NDJSON. */
export function isImport({ body }: RouteSpec): boolean {
  return (body as { "x-content-type"?: string } | undefined)?.["x-content-type"] !== undefined;
}
