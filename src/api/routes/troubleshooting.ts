import { type Static, Type } from "typebox";
import type { TsqFilter, TsqTarget } from "../../commands/index.ts";
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
      const { limit = limitDefault } = query;
      const found = await commands.tsq.list({ ...query, limit });
      const shown = found.map((command) => shownCommand(command, caller, context));
      return toPage(shown, limit, ({ commandId }) => commandId);
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

function toAction({ domain, commandIds, matching, reason }: Static<typeof Target>, operator: string) {
  const options = { operator, ...(reason !== undefined && { reason }) };
  return { target: toTarget(domain, commandIds, matching), options };
}

function toTarget(
  domain: string | undefined,
  commandIds: readonly string[] | undefined,
  matching: TsqFilter | undefined,
): TsqTarget {
  if (matching && !commandIds && domain === undefined) return { matching, limit: commandsPerCall };
  if (commandIds && domain !== undefined && !matching) return { domain, commandIds };
  throw new TallymanError(
    "REQUEST_INVALID",
    "Name commands by 'domain' and 'commandIds', or all by 'matching'; not both, not neither.",
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
