import { type Static, Type } from "typebox";
import type { TsqCursor, TsqFilter, TsqTarget } from "../../commands/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { action, closed, route } from "../route.ts";
import {
  Cursor,
  Limit,
  limitDefault,
  Name,
  page,
  Reason,
  Timestamp,
  text,
  toPage,
  Uuid,
} from "../schemas.ts";
import { Command, shownCommand } from "./command-schemas.ts";

/** Commands that one call changes: a transaction of a second or so. `remaining` says whether to call again. */
const commandsPerCall = 10_000;
const idsMax = 1_000;

const filter = {
  domain: Type.Optional(Name),
  commandType: Type.Optional(Name),
  errorSignature: Type.Optional(text({ max: 255 })),
  batchId: Type.Optional(Uuid),
};

const Filter = Type.Object(filter, closed);

/** Commands by id, or all that match. */
const Target = Type.Object(
  {
    domain: Type.Optional(Name),
    commandIds: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: idsMax })),
    matching: Type.Optional(Filter),
    /** Of those that match, the oldest; what comes into the queue meanwhile is left alone by it. */
    limit: Type.Optional(Type.Integer({ minimum: 1 })),
    reason: Reason,
  },
  closed,
);

const Outcome = Type.Object({ changed: Type.Integer(), remaining: Type.Integer() }, closed);

/** The troubleshooting queue. */
export const troubleshootingRoutes = {
  "GET /api/tsq": route(
    {
      summary: "List commands in the troubleshooting queue, oldest first",
      role: "read",
      query: Type.Object({ ...filter, limit: Limit, cursor: Cursor }, closed),
      data: page(Command),
    },
    async ({ commands }, { query, caller }, context) => {
      const { limit = limitDefault, cursor, ...matching } = query;
      const after = cursor === undefined ? {} : { cursor: parseCursor(cursor) };
      const found = await commands.tsq.list({ ...matching, ...after, limit });
      const shown = found.map((command) => shownCommand(command, caller, context));
      return toPage(shown, limit, ({ domain, commandId }) => `${domain}/${commandId}`);
    },
  ),

  "GET /api/tsq/groups": route(
    {
      summary: "Count commands in the troubleshooting queue by kind of error",
      role: "read",
      query: Filter,
      data: Type.Array(
        Type.Object(
          {
            domain: Type.String(),
            commandType: Type.String(),
            errorSignature: Type.String(),
            count: Type.Integer(),
            oldest: Timestamp,
            example: Type.String(),
          },
          closed,
        ),
      ),
    },
    ({ commands }, { query }) => commands.tsq.groups(query),
  ),

  "GET /api/tsq/preview": route(
    {
      summary: "Preview of an action on all matching: how many commands it would change",
      role: "read",
      query: Filter,
      data: Type.Object({ matched: Type.Integer() }, closed),
    },
    async ({ commands }, { query }) => ({ matched: await commands.tsq.count(query) }),
  ),

  "POST /api/tsq/retry": action(
    {
      summary: "Send commands back to the workers, with all attempts anew",
      role: "operate",
      action: "tsq.retry",
      body: Target,
      data: Outcome,
    },
    async ({ commands }, { body, caller }) => {
      const { target, options } = toAction(body, caller.actor);
      return outcome(body, await commands.tsq.retry(target, options), await remaining(commands.tsq, target));
    },
  ),

  "POST /api/tsq/complete": action(
    {
      summary: "End commands as completed, by hand",
      role: "operate",
      action: "tsq.complete",
      body: Type.Object({ ...Target.properties, result: Type.Optional(Type.Unknown()) }, closed),
      data: Outcome,
    },
    async ({ commands }, { body, caller }) => {
      const { result, ...rest } = body;
      const { target, options } = toAction(rest, caller.actor);
      const changed = await commands.tsq.complete(target, {
        ...options,
        ...(result !== undefined && { result }),
      });
      return outcome(rest, changed, await remaining(commands.tsq, target));
    },
  ),

  "POST /api/tsq/cancel": action(
    {
      summary: "End commands as cancelled",
      role: "operate",
      action: "tsq.cancel",
      body: Target,
      data: Outcome,
    },
    async ({ commands }, { body, caller }) => {
      const { target, options } = toAction(body, caller.actor);
      return outcome(body, await commands.tsq.cancel(target, options), await remaining(commands.tsq, target));
    },
  ),
};

function parseCursor(text: string): TsqCursor {
  const slash = text.lastIndexOf("/");
  return { domain: text.slice(0, Math.max(0, slash)), commandId: text.slice(slash + 1) };
}

function toAction({ reason, ...target }: Static<typeof Target>, operator: string) {
  const options = { operator, ...(reason !== undefined && { reason }) };
  return { target: toTarget(target), options };
}

function toTarget({ domain, commandIds, matching, limit }: Omit<Static<typeof Target>, "reason">): TsqTarget {
  if (matching && !commandIds && domain === undefined)
    return { matching, limit: Math.min(limit ?? commandsPerCall, commandsPerCall) };
  if (commandIds && domain !== undefined && !matching && limit === undefined) return { domain, commandIds };
  throw new TallymanError(
    "REQUEST_INVALID",
    "Name commands by 'domain' and 'commandIds', or all by 'matching' and perhaps a 'limit'; not both, not neither.",
    { details: { field: matching ? "domain" : "commandIds" } },
  );
}

async function remaining(
  tsq: { count(filter: TsqFilter): Promise<number> },
  target: TsqTarget,
): Promise<number> {
  return "matching" in target ? tsq.count(target.matching) : 0;
}

function outcome({ reason: _reason, ...target }: Static<typeof Target>, changed: number, left: number) {
  return { data: { changed, remaining: left }, target, changed };
}
