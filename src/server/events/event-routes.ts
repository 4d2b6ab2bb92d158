import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { closed } from "../../api/index.ts";
import { TallymanError } from "../../errors/index.ts";
import type { ServedRoutes } from "../serve-routes.ts";
import type { EventHub, HubEvent } from "./event-hub.ts";
import { topicNames } from "./topics.ts";

const heartbeatMs = 15_000;
const topicsMax = 20;
/** Bytes that may wait for a client; one that reads slower is sent away, and comes back for the present state. */
const waitingBytesMax = 262_144;

/** Live: what changes, as server-sent events. */
export function eventRoutes(hub: EventHub) {
  return {
    "GET /api/events": {
      summary: `Watch topics (${topicNames.join(", ")}; batch:<id> and run:<id>) as server-sent events`,
      role: "read",
      isRaw: true,
      query: Type.Object({ topics: Type.String({ minLength: 1, maxLength: 4_000 }) }, closed),
      data: Type.String(),
      handle: (request, reply) => stream(hub, request, reply),
    },
  } satisfies ServedRoutes;
}

async function stream(hub: EventHub, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { topics: text } = request.query as { topics: string };
  const topics = [...new Set(text.split(",").map((topic) => topic.trim()))];
  if (topics.length > topicsMax || !hub.accepts(topics)) throw unknownTopics(text);
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  raw.write("retry: 2000\n\n");
  const lastId = request.headers["last-event-id"];
  const unsubscribe = hub.subscribe(
    topics,
    (event) => send(raw, event),
    typeof lastId === "string" ? lastId : undefined,
  );
  const heartbeat = setInterval(() => write(raw, ": still here\n\n"), heartbeatMs);
  const end = () => raw.end();
  hub.closing.addEventListener("abort", end);
  await once(raw, "close").catch(() => undefined);
  hub.closing.removeEventListener("abort", end);
  clearInterval(heartbeat);
  unsubscribe();
}

function send(raw: ServerResponse, { id, topic, data }: HubEvent): boolean {
  return write(raw, `id: ${id}\nevent: ${topic}\ndata: ${data}\n\n`);
}

function write(raw: ServerResponse, text: string): boolean {
  if (raw.destroyed) return false;
  if (raw.writableLength > waitingBytesMax) {
    raw.destroy();
    return false;
  }
  raw.write(text);
  return true;
}

function unknownTopics(topics: string): TallymanError {
  return new TallymanError(
    "REQUEST_INVALID",
    `'${topics}' are not topics that can be watched, or too many. Known: ${topicNames.join(", ")}.`,
    { details: { field: "topics" } },
  );
}
