import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { describe, expect, it } from "vitest";
import { compileValidator, type RouteContext } from "../../api/index.ts";
import { deferred } from "../../runtime/index.ts";
import type { Authentication } from "../authenticate.ts";
import { serveRoutes } from "../serve-routes.ts";
import { EventHub } from "./event-hub.ts";
import { eventRoutes } from "./event-routes.ts";

const caller = { actor: "a", role: "read", canViewPayloads: false, tokenId: null, isSession: false };

/** A server of events that holds a request in its authentication until the test lets it go on. */
async function open() {
  const asked = deferred<FastifyRequest>();
  const known = deferred<typeof caller>();
  const handling = deferred<{ readonly done: Promise<unknown> }>();
  const topics = { listTopics: async () => [], listGroups: async () => [] };
  const context = { tallyman: { topics } } as unknown as RouteContext;
  const hub = new EventHub(context);
  const authentication = {
    callerOf: (request: FastifyRequest) => {
      asked.resolve(request);
      return known.promise;
    },
  } as unknown as Authentication;
  const route = eventRoutes(hub, authentication)["GET /api/events"];
  const handle = (request: FastifyRequest, reply: FastifyReply) => {
    const done = route.handle(request, reply);
    handling.resolve({ done });
    return done;
  };
  const app = fastify({ forceCloseConnections: "idle" });
  app.setValidatorCompiler(compileValidator);
  const own = { "GET /api/events": { ...route, handle } };
  serveRoutes(app, { api: {}, own, context, authentication, importBytesMax: 0 });
  await app.listen();
  const { port } = app.server.address() as AddressInfo;
  return {
    hub,
    app,
    url: `http://localhost:${port}/api/events?topics=topics`,
    asked: asked.promise,
    letIn: async () => {
      known.resolve(caller);
      return handling.promise;
    },
    [Symbol.asyncDispose]: async () => {
      await hub.close();
      await app.close();
    },
  };
}

describe("a stream of events", () => {
  it("watches nothing for a client that left while it was being authenticated", async () => {
    await using t = await open();
    const leaving = new AbortController();
    const watching = fetch(t.url, { signal: leaving.signal }).catch(() => "left");
    const { raw } = await t.asked;
    const gone = once(raw.socket, "close");
    leaving.abort();
    await gone;
    expect(await watching).toBe("left");
    const { done } = await t.letIn();
    expect(t.hub.subscriptions).toBe(0);
    await done;
  });

  it("ends, and the server stops, when stopping began while the client was being authenticated", async () => {
    await using t = await open();
    const watching = fetch(t.url);
    await t.asked;
    await t.hub.close();
    const stopped = t.app.close();
    await expect.poll(() => t.app.server.listening).toBe(false);
    await t.letIn();
    expect(t.hub.subscriptions).toBe(0);
    expect(await (await watching).text()).not.toContain("data:");
    await stopped;
  });
});
