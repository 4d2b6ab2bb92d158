import { apiRoutes, type Route, type RouteContext, type RouteRequest } from "../../api/index.ts";
import type { Caller } from "../../operators/index.ts";

/** Something that can be watched: the answer of a route, looked at again and again. */
interface EventTopic {
  readonly route: keyof typeof apiRoutes;
  readonly intervalMs: number;
  /** Fields that change by themselves: told along with what else changes, and no news alone. */
  readonly agingFields?: readonly string[];
  readonly query?: RouteRequest["query"];
  /** The part of the route's path that follows the topic's colon. */
  readonly argument?: string;
}

/** Progress of one batch comes at most four times per second. */
const progressMs = 250;
const usualMs = 1_000;
/** What takes more of the database than a look at a few rows. */
const seldomMs = 2_000;
/** Enough for a strip that is looked at while it changes. */
const stripBuckets = 100;

const topics: Readonly<Record<string, EventTopic>> = {
  overview: { route: "GET /api/overview", intervalMs: usualMs },
  batches: { route: "GET /api/batches", intervalMs: usualMs, query: { limit: 50 } },
  running: {
    route: "GET /api/batches",
    intervalMs: usualMs,
    query: { status: "IN_PROGRESS", limit: 50 },
  },
  batch: {
    route: "GET /api/batches/:batchId",
    intervalMs: progressMs,
    argument: "batchId",
  },
  tsq: { route: "GET /api/tsq/groups", intervalMs: usualMs },
  actions: { route: "GET /api/actions", intervalMs: usualMs, query: { limit: 50 } },
  leader: { route: "GET /api/coordinators", intervalMs: usualMs },
  workers: {
    route: "GET /api/scheduler-workers",
    intervalMs: usualMs,
    query: { all: true },
  },
  segments: { route: "GET /api/segments", intervalMs: usualMs },
  jobs: { route: "GET /api/jobs", intervalMs: usualMs },
  services: {
    route: "GET /api/services",
    intervalMs: usualMs,
    agingFields: ["sinceMs", "heartbeatAgeMs"],
  },
  topics: { route: "GET /api/topics", intervalMs: seldomMs, agingFields: ["oldestAgeMs"] },
  run: {
    route: "GET /api/runs/:runId/ticks",
    intervalMs: seldomMs,
    argument: "runId",
    query: { buckets: stripBuckets },
  },
};

/** The names that can be asked for. */
export const topicNames: readonly string[] = Object.keys(topics);

const namePattern = /^([a-z]+)(?::([\w.-]{1,200}))?$/;

/** A watched thing: how often to look, and how. */
export interface Watchable {
  readonly intervalMs: number;
  read(): Promise<unknown>;
  /** A text that is another when there is news. */
  newsIn(data: unknown): string;
}

/** Events show no payloads, so everybody who may watch gets the same. */
const watcher: Caller = {
  actor: "events",
  role: "read",
  canViewPayloads: false,
  tokenId: null,
  isSession: false,
};

/** What `overview` or `batch:<id>` stands for; undefined for a name that is none. */
export function watchableOf(name: string, context: RouteContext): Watchable | undefined {
  const [, kind = "", argument] = namePattern.exec(name) ?? [];
  const topic = Object.hasOwn(topics, kind) ? topics[kind] : undefined;
  if (!topic || (topic.argument === undefined) !== (argument === undefined)) return undefined;
  const { query = {}, argument: parameter } = topic;
  const params = parameter === undefined ? {} : { [parameter]: argument };
  const request = { params, query, body: {}, caller: watcher, requestId: "events", headers: {} };
  const route: Route = apiRoutes[topic.route];
  const { intervalMs, agingFields = [] } = topic;
  return {
    intervalMs,
    read: () => route.run(context, request),
    newsIn: (data) =>
      JSON.stringify(data, (field, value) => (agingFields.includes(field) ? undefined : value)),
  };
}
