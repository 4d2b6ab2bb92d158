import type { FastifyInstance } from "fastify";
import type { RouteSpec } from "../../api/index.ts";
import { docsPage } from "../docs-page.ts";
import { openApiDocument } from "../openapi.ts";

/** What the API says about itself: `/openapi.json` for programs, `/docs` for people. */
export function documentRoutes(app: FastifyInstance, routes: Readonly<Record<string, RouteSpec>>): void {
  const document = openApiDocument(routes);
  const json = JSON.stringify(document);
  const html = docsPage(document);
  app.get("/openapi.json", async (_request, reply) => reply.type("application/json").send(json));
  app.get("/docs", async (_request, reply) => reply.type("text/html; charset=utf-8").send(html));
}
