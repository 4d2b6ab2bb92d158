import { Type } from "typebox";
import { shownPayload } from "../payloads.ts";
import { action, closed, route } from "../route.ts";
import {
  Limit,
  limitDefault,
  MaybeText,
  Name,
  NumberCursor,
  oneOf,
  page,
  Reason,
  Timestamp,
  toPage,
  Uuid,
} from "../schemas.ts";
import { AuditEvent } from "./command-schemas.ts";

const OneDomain = Type.Object({ domain: Name }, closed);
const Paused = Type.Object({ domain: Type.String(), isPaused: Type.Boolean() }, closed);
const integerMax = 2_147_483_647;

const ReplyId = Type.Object(
  {
    replyId: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    deliveryCount: Type.Integer({ minimum: 1, maximum: integerMax }),
  },
  closed,
);

const Domain = Type.Object(
  {
    domain: Type.String(),
    isPaused: Type.Boolean(),
    ready: Type.Integer(),
    waiting: Type.Integer(),
    inProgress: Type.Integer(),
    inTroubleshooting: Type.Integer(),
    completedPerSecond: Type.Number(),
    failedPerSecond: Type.Number(),
  },
  closed,
);

const Reply = Type.Object(
  {
    replyId: Type.Integer(),
    deliveryCount: Type.Integer(),
    domain: Type.String(),
    commandId: Uuid,
    commandType: Type.String(),
    correlationId: Uuid,
    batchId: MaybeText,
    outcome: oneOf(["COMPLETED", "FAILED", "CANCELED"]),
    result: Type.Unknown(),
    errorCode: MaybeText,
    errorMessage: MaybeText,
    createdAt: Timestamp,
  },
  closed,
);

/** Domains, replies and the audit of the bus. */
export const domainRoutes = {
  "GET /api/domains": route(
    { summary: "List domains with backlog and rates", role: "read", data: Type.Array(Domain) },
    ({ commands }) => commands.domains(),
  ),

  "POST /api/domains/:domain/pause": action(
    {
      summary: "Hand out no more commands of a domain; those that run finish",
      role: "operate",
      action: "domain.pause",
      params: OneDomain,
      body: Type.Object({ reason: Reason }, closed),
      data: Paused,
    },
    async ({ commands }, { params: { domain }, caller }) => {
      await commands.pauseDomain(domain, { operator: caller.actor });
      return { data: { domain, isPaused: true }, target: { domain }, changed: 1 };
    },
  ),

  "POST /api/domains/:domain/resume": action(
    {
      summary: "Hand out a domain's commands again",
      role: "operate",
      action: "domain.resume",
      params: OneDomain,
      body: Type.Object({ reason: Reason }, closed),
      data: Paused,
    },
    async ({ commands }, { params: { domain }, caller }) => {
      await commands.resumeDomain(domain, { operator: caller.actor });
      return { data: { domain, isPaused: false }, target: { domain }, changed: 1 };
    },
  ),

  "POST /api/replies/:queue/receive": route(
    {
      summary:
        "Take replies of a queue; they are hidden from others until acknowledged, or for half a minute",
      role: "operate",
      params: Type.Object({ queue: Name }, closed),
      body: Type.Object({ limit: Limit }, closed),
      data: Type.Array(Reply),
    },
    async ({ commands }, { params: { queue }, body: { limit = limitDefault }, caller }, context) => {
      const replies = await commands.replies(queue).receive({ limit });
      return replies.map((reply) => ({ ...reply, result: shownPayload(reply.result, caller, context) }));
    },
  ),

  "POST /api/replies/:queue/acknowledge": route(
    {
      summary: "Remove replies that were received",
      role: "operate",
      params: Type.Object({ queue: Name }, closed),
      body: Type.Object({ replies: Type.Array(ReplyId, { minItems: 1, maxItems: 1_000 }) }, closed),
      data: Type.Object({ acknowledged: Type.Integer() }, closed),
    },
    async ({ commands }, { params: { queue }, body: { replies } }) => ({
      acknowledged: await commands.replies(queue).acknowledge(replies),
    }),
  ),

  "GET /api/audit": route(
    {
      summary: "List what happened to commands and batches, newest first",
      role: "read",
      query: Type.Object(
        {
          domain: Type.Optional(Name),
          eventType: Type.Optional(Name),
          limit: Limit,
          cursor: NumberCursor,
        },
        closed,
      ),
      data: page(AuditEvent),
    },
    async ({ commands }, { query: { cursor: before, limit = limitDefault, ...filter } }) =>
      toPage(await commands.audit({ ...filter, limit, before }), limit, ({ auditId }) => `${auditId}`),
  ),
};
