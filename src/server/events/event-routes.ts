import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { closed } from "../../api/index.ts";
import { TallymanError } from "../../errors/index.ts";
import type { Authentication } from "../authenticate.ts";
import type { ServedRoutes } from "../serve-routes.ts";
import type { EventHub } from "./event-hub.ts";
import { EventStream } from "./event-stream.ts";
import { topicNames } from "./topics.ts";

const heartbeatMs = 15_000;
const topicsMax = 20;

/** Live: what changes, as server-sent events. */
export function eventRoutes(hub: EventHub, authentication: Authentication) {
  return {
    "GET /api/events": {
      summary: `Watch topics (${topicNames.join(", ")}; batch:<id> and run:<id>) as server-sent events`,
      role: "read",
      isRaw: true,
      query: Type.Object({ topics: Type.String({ minLength: 1, maxLength: 4_000 }) }, closed),
      data: Type.String(),
      handle: (request, reply) => stream(hub, authentication, request, reply),
    },
  } satisfies ServedRoutes;
}

async function stream(
  hub: EventHub,
  authentication: Authentication,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { topics: text } = request.query as { topics: string };
  const topics = [...new Set(text.split(",").map((topic) => topic.trim()))];
  if (topics.length > topicsMax || !hub.accepts(topics)) throw unknownTopics(text);
  reply.hijack();
  const events = new EventStream(reply.raw, reply.getHeaders() as Record<string, string>);
  // While it was being authenticated the client may have left, or the server begun to stop: no event tells of that now.
  if (reply.raw.destroyed || hub.closing.aborted) return void reply.raw.end();
  const lastId = request.headers["last-event-id"];
  const unsubscribe = hub.subscribe(
    topics,
    (event) => events.send(event),
    typeof lastId === "string" ? lastId : undefined,
  );
  // Who may no longer look is sent away too.
  const heartbeat = setInterval(() => {
    authentication.callerOf(request).then(
      () => events.heartbeat(),
      () => reply.raw.destroy(),
    );
  }, heartbeatMs);
  await untilClosed(reply.raw, hub.closing);
  clearInterval(heartbeat);
  unsubscribe();
}

/** Waits until the client has gone; a server that stops lets go of it. */
async function untilClosed(raw: ServerResponse, closing: AbortSignal): Promise<void> {
  const end = () => raw.end();
  closing.addEventListener("abort", end, { once: true });
  await once(raw, "close").catch(() => undefined);
  closing.removeEventListener("abort", end);
}

function unknownTopics(topics: string): TallymanError {
  return new TallymanError(
    "REQUEST_INVALID",
    `'${topics}' are not topics that can be watched, or too many. Known: ${topicNames.join(", ")}.`,
    { details: { field: "topics" } },
  );
}
