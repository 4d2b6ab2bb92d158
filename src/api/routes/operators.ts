import { Type } from "typebox";
import { TallymanError } from "../../errors/index.ts";
import { listOperatorActions, roles } from "../../operators/index.ts";
import { action, closed, route } from "../route.ts";
import {
  Limit,
  limitDefault,
  MaybeText,
  MaybeTimestamp,
  NumberCursor,
  oneOf,
  page,
  Reason,
  Timestamp,
  text,
  toPage,
} from "../schemas.ts";

const dayMs = 86_400_000;
const RoleText = oneOf(roles);
const TokenId = text({ min: 1, max: 64 });

const Token = Type.Object(
  {
    tokenId: Type.String(),
    name: Type.String(),
    role: RoleText,
    canViewPayloads: Type.Boolean(),
    createdBy: Type.String(),
    createdAt: Timestamp,
    expiresAt: MaybeTimestamp,
    revokedAt: MaybeTimestamp,
  },
  closed,
);

const OperatorAction = Type.Object(
  {
    actionId: Type.Integer(),
    createdAt: Timestamp,
    actor: Type.String(),
    action: Type.String(),
    target: Type.Unknown(),
    changed: Type.Integer(),
    reason: MaybeText,
    requestId: Type.String(),
  },
  closed,
);

/** Access tokens, and what operators did. */
export const operatorRoutes = {
  "GET /api/actions": route(
    {
      summary: "List what operators did, newest first",
      role: "read",
      query: Type.Object(
        {
          actor: Type.Optional(text({ max: 255 })),
          action: Type.Optional(text({ max: 64 })),
          limit: Limit,
          cursor: NumberCursor,
        },
        closed,
      ),
      data: page(OperatorAction),
    },
    async ({ database }, { query: { cursor: before, limit = limitDefault, ...filter } }) => {
      const actions = await listOperatorActions(database, { ...filter, limit, before });
      return toPage(actions, limit, ({ actionId }) => `${actionId}`);
    },
  ),

  "GET /api/tokens": route(
    { summary: "List access tokens, newest first", role: "admin", data: Type.Array(Token) },
    ({ tokens }) => tokens.list(),
  ),

  "POST /api/tokens": action(
    {
      summary: "Make an access token; its text is told only here",
      role: "admin",
      action: "token.create",
      body: Type.Object(
        {
          name: text({ min: 1, max: 100 }),
          role: RoleText,
          canViewPayloads: Type.Optional(Type.Boolean()),
          expiresInMs: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 3_660 * dayMs })),
          reason: Reason,
        },
        closed,
      ),
      data: Type.Object({ tokenId: Type.String(), token: Type.String() }, closed),
    },
    async ({ tokens }, { body: { reason: _reason, ...options }, caller }) => {
      const { name, role, canViewPayloads = caller.canViewPayloads } = options;
      if (canViewPayloads && !caller.canViewPayloads)
        throw new TallymanError(
          "ROLE_INSUFFICIENT",
          `'${caller.actor}' sees no payloads, so neither can its tokens.`,
        );
      const data = await tokens.create({ ...options, canViewPayloads, createdBy: caller.actor });
      return { data, target: { tokenId: data.tokenId, name, role }, changed: 1 };
    },
  ),

  "POST /api/tokens/:tokenId/revoke": action(
    {
      summary: "Revoke an access token and its sessions",
      role: "admin",
      action: "token.revoke",
      params: Type.Object({ tokenId: TokenId }, closed),
      body: Type.Object({ reason: Reason }, closed),
      data: Type.Object({ tokenId: Type.String() }, closed),
    },
    async ({ tokens }, { params: { tokenId } }) => {
      await tokens.revoke(tokenId);
      return { data: { tokenId }, target: { tokenId }, changed: 1 };
    },
  ),
};
