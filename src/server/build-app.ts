import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import { apiRoutes, compileValidator, type RouteContext } from "../api/index.ts";
import { refuseOtherSites } from "./access.ts";
import { Authentication, refuseTooMany } from "./authenticate.ts";
import { sendCompact } from "./compact.ts";
import { serveDashboard } from "./dashboard-files.ts";
import type { EventHub } from "./events/event-hub.ts";
import { eventRoutes } from "./events/event-routes.ts";
import type { HttpServerOptions } from "./http-server.ts";
import { parseNdjson } from "./ndjson.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { reportClientError, reportError, reportUnknownRoute } from "./report-error.ts";
import { documentRoutes } from "./routes/documents.ts";
import { healthRoutes } from "./routes/health.ts";
import { sessionRoutes } from "./routes/session.ts";
import { type ServedRoutes, serveRoutes } from "./serve-routes.ts";

/** How often slow sockets are looked for. */
const checkIntervalMs = 1_000;
const keepAliveMs = 5_000;
const headerBytesMax = 16_384;
const pathParameterLettersMax = 400;
const secondMs = 1_000;
const requestIdPattern = /^[\w.:-]{1,100}$/;

/** Sent with every answer. The dashboard needs no inline script, and nothing may frame it. */
const safetyHeaders = {
  "content-security-policy":
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/** The server without its socket: limits, access, and every route. */
export async function buildApp(
  context: RouteContext,
  options: Readonly<HttpServerOptions>,
  events: EventHub,
): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: options.bodyBytesMax,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    forceCloseConnections: "idle",
    genReqId: requestIdOf,
    clientErrorHandler: reportClientError,
    http: {
      headersTimeout: options.headersTimeoutMs,
      connectionsCheckingInterval: checkIntervalMs,
      maxHeaderSize: headerBytesMax,
    },
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: pathParameterLettersMax },
  });
  const authentication = new Authentication(context.tallyman.tokens, options);
  app.setValidatorCompiler(compileValidator);
  app.setErrorHandler(reportError);
  app.addContentTypeParser("application/x-ndjson", (_request: FastifyRequest, stream: IncomingMessage) =>
    parseNdjson(stream, options.importBytesMax),
  );
  guardRequests(app, options);
  const served: ServedRoutes = {
    ...healthRoutes(context),
    ...sessionRoutes(authentication, context),
    ...eventRoutes(events, authentication),
  };
  serveRoutes(app, {
    api: apiRoutes,
    own: served,
    context,
    authentication,
    importBytesMax: options.importBytesMax,
  });
  documentRoutes(app, { ...apiRoutes, ...served });
  const sendPage = await serveDashboard(app);
  app.setNotFoundHandler(async (request, reply) =>
    sendPage(request, reply) ? reply : reportUnknownRoute(request),
  );
  return app;
}

function guardRequests(app: FastifyInstance, options: Readonly<HttpServerOptions>): void {
  const limiter = new RateLimiter({ max: options.requestsPerSecondMax, windowMs: secondMs });
  app.addHook("onRequest", async (request, reply) => {
    void reply.headers(safetyHeaders).header("x-request-id", request.id);
    refuseTooMany(limiter.hit(request.ip));
    refuseOtherSites(request, options);
  });
  app.addHook("onSend", sendCompact);
}

/** The client's own id, when it is one that can be logged, so that its logs and ours can be put together. */
function requestIdOf({ headers }: { headers: IncomingMessage["headers"] }): string {
  const given = headers["x-request-id"];
  return typeof given === "string" && requestIdPattern.test(given) ? given : randomUUID();
}
