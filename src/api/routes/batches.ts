import { Type } from "typebox";
import type { BatchMetadata } from "../../commands/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { shownPayload } from "../payloads.ts";
import { action, closed, type RouteContext, type RouteRequest, route } from "../route.ts";
import {
  Limit,
  limitDefault,
  MaybeText,
  MaybeTimestamp,
  Name,
  oneOf,
  page,
  Reason,
  Timestamp,
  text,
  toDate,
  toPage,
  Uuid,
} from "../schemas.ts";
import {
  AuditEvent,
  Command,
  CommandStatusText,
  NewCommand,
  shownCommand,
  toCommand,
} from "./command-schemas.ts";

/** Commands of one JSON body; more are streamed as NDJSON. */
const jsonCommandsMax = 10_000;
/** A URL with it still fits into the headers that a server takes. */
const customDataLettersMax = 4_000;

const BatchStatusText = oneOf(["PENDING", "IN_PROGRESS", "COMPLETED", "COMPLETED_WITH_FAILURES"]);

/** A batch as it is shown. */
export const Batch = Type.Object(
  {
    batchId: Uuid,
    domain: Type.String(),
    name: MaybeText,
    customData: Type.Unknown(),
    status: BatchStatusText,
    totalCount: Type.Integer(),
    completedCount: Type.Integer(),
    failedCount: Type.Integer(),
    canceledCount: Type.Integer(),
    inTroubleshootingCount: Type.Integer(),
    createdAt: Timestamp,
    startedAt: MaybeTimestamp,
    completedAt: MaybeTimestamp,
    isSealed: Type.Boolean(),
    priority: Type.Integer(),
    expiresAt: MaybeTimestamp,
    canceledAt: MaybeTimestamp,
  },
  closed,
);

const OneBatch = Type.Object({ batchId: Uuid }, closed);

const batchOptions = {
  name: Type.Optional(text({ max: 255 })),
  priority: Type.Optional(Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })),
  open: Type.Optional(Type.Boolean()),
  expiresAt: Type.Optional(Timestamp),
};

const NewBatch = Type.Object(
  {
    ...batchOptions,
    customData: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    completion: Type.Optional(
      Type.Object(
        {
          commandType: Name,
          domain: Type.Optional(Name),
          data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
          replyTo: Type.Optional(Name),
        },
        closed,
      ),
    ),
    commands: Type.Array(NewCommand, { maxItems: jsonCommandsMax }),
  },
  closed,
);

const Created = Type.Object({ batchId: Uuid, totalCount: Type.Integer() }, closed);

/** Batches of the bus. */
export const batchRoutes = {
  "GET /api/batches": route(
    {
      summary: "List batches, newest first",
      role: "read",
      query: Type.Object(
        {
          domain: Type.Optional(Name),
          status: Type.Optional(BatchStatusText),
          limit: Limit,
          cursor: Type.Optional(Uuid),
        },
        closed,
      ),
      data: page(Batch),
    },
    async ({ commands }, { query: { domain, ...query }, caller }, context) => {
      const { limit = limitDefault } = query;
      const options = { ...query, limit };
      const found = await (domain === undefined
        ? commands.listAllBatches(options)
        : commands.listBatches(domain, options));
      const shown = found.map((batch) => shownBatch(batch, { caller }, context));
      return toPage(shown, limit, ({ batchId }) => batchId);
    },
  ),

  "POST /api/domains/:domain/batches": action(
    {
      summary: `Create a batch with up to ${jsonCommandsMax.toLocaleString("en")} commands; all or nothing`,
      role: "operate",
      action: "batch.create",
      isCreating: true,
      params: Type.Object({ domain: Name }, closed),
      body: NewBatch,
      data: Created,
    },
    async ({ commands }, { params: { domain }, body: { commands: given, expiresAt, ...options } }) => {
      const batchId = await commands.createBatch(domain, given.map(toCommand), {
        ...options,
        ...(expiresAt !== undefined && { expiresAt: toDate("expiresAt", expiresAt) }),
      });
      return created(domain, batchId, given.length);
    },
  ),

  "POST /api/domains/:domain/batches/import": action(
    {
      summary: "Create a batch from NDJSON, one command per line; all or nothing",
      role: "operate",
      action: "batch.create",
      isCreating: true,
      params: Type.Object({ domain: Name }, closed),
      query: Type.Object(
        {
          ...batchOptions,
          customData: Type.Optional(
            Type.String({ ...text({ max: customDataLettersMax }), description: "a JSON object, as text" }),
          ),
        },
        closed,
      ),
      body: Type.Array(NewCommand, { maxItems: 1_000_000, "x-content-type": "application/x-ndjson" }),
      data: Created,
    },
    async ({ commands }, { params: { domain }, query: { expiresAt, customData, ...options }, body }) => {
      const batchId = await commands.createBatch(domain, body.map(toCommand), {
        ...options,
        ...(customData !== undefined && { customData: parseCustomData(customData) }),
        ...(expiresAt !== undefined && { expiresAt: toDate("expiresAt", expiresAt) }),
      });
      return created(domain, batchId, body.length);
    },
  ),

  "GET /api/batches/:batchId": route(
    { summary: "Get one batch", role: "read", params: OneBatch, data: Batch },
    async ({ commands }, { params: { batchId }, caller }, context) =>
      shownBatch(await findBatch(commands, batchId), { caller }, context),
  ),

  "GET /api/batches/:batchId/commands": route(
    {
      summary: "List a batch's commands in the order in which they were sent",
      role: "read",
      params: OneBatch,
      query: Type.Object(
        { status: Type.Optional(CommandStatusText), limit: Limit, cursor: Type.Optional(Uuid) },
        closed,
      ),
      data: page(Command),
    },
    async ({ commands }, { params: { batchId }, query, caller }, context) => {
      const { limit = limitDefault } = query;
      const { domain } = await findBatch(commands, batchId);
      const found = await commands.listBatchCommands(domain, batchId, { ...query, limit });
      const shown = found.map((command) => shownCommand(command, caller, context));
      return toPage(shown, limit, ({ commandId }) => commandId);
    },
  ),

  "GET /api/batches/:batchId/history": route(
    {
      summary: "List what happened to the batch itself",
      role: "read",
      params: OneBatch,
      data: Type.Array(AuditEvent),
    },
    async ({ commands }, { params: { batchId } }) => {
      const { domain } = await findBatch(commands, batchId);
      return commands.batchHistory(domain, batchId);
    },
  ),

  "POST /api/batches/:batchId/commands": action(
    {
      summary: "Add commands to an open batch; all or nothing",
      role: "operate",
      action: "batch.add",
      isCreating: true,
      params: OneBatch,
      body: Type.Object(
        { commands: Type.Array(NewCommand, { minItems: 1, maxItems: jsonCommandsMax }) },
        closed,
      ),
      data: Type.Object({ commandIds: Type.Array(Uuid) }, closed),
    },
    async ({ commands }, { params: { batchId }, body }) => {
      const { domain } = await findBatch(commands, batchId);
      const commandIds = await commands.addToBatch(domain, batchId, body.commands.map(toCommand));
      return { data: { commandIds }, target: { domain, batchId }, changed: commandIds.length };
    },
  ),

  "POST /api/batches/:batchId/seal": action(
    {
      summary: "Seal an open batch: it takes no more commands and can complete",
      role: "operate",
      action: "batch.seal",
      params: OneBatch,
      body: Type.Object({ reason: Reason }, closed),
      data: Type.Object({ batchId: Uuid }, closed),
    },
    async ({ commands }, { params: { batchId } }) => {
      const { domain, isSealed } = await findBatch(commands, batchId);
      await commands.sealBatch(domain, batchId);
      return { data: { batchId }, target: { domain, batchId }, changed: isSealed ? 0 : 1 };
    },
  ),

  "GET /api/batches/:batchId/cancel": route(
    {
      summary: "Preview of a cancellation: how many commands it would cancel",
      role: "read",
      params: OneBatch,
      data: Type.Object({ matched: Type.Integer() }, closed),
    },
    async ({ commands }, { params: { batchId } }) => {
      const { domain } = await findBatch(commands, batchId);
      return { matched: await commands.countCancelable(domain, batchId) };
    },
  ),

  "POST /api/batches/:batchId/cancel": action(
    {
      summary: "Cancel what nobody has begun of a batch, which then ends COMPLETED_WITH_FAILURES",
      role: "operate",
      action: "batch.cancel",
      params: OneBatch,
      body: Type.Object({ reason: Reason }, closed),
      data: Type.Object({ batchId: Uuid, canceled: Type.Integer() }, closed),
    },
    async ({ commands }, { params: { batchId }, caller: { actor } }, { tallyman }) => {
      const { domain } = await findBatch(commands, batchId);
      const decided = await commands.decideCancellation(domain, batchId, { operator: actor });
      const by = { operator: actor, canceledBefore: decided.canceledBefore };
      return {
        target: { domain, batchId },
        changed: decided.cancelable,
        afterwards: async () => ({
          batchId,
          canceled: await tallyman.commands.carryOutCancellation(domain, batchId, by),
        }),
      };
    },
  ),
};

function created(domain: string, batchId: string, totalCount: number) {
  return { data: { batchId, totalCount }, target: { domain, batchId }, changed: totalCount };
}

function parseCustomData(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Told below.
  }
  throw new TallymanError("REQUEST_INVALID", "Parameter 'customData' must be a JSON object, as text.", {
    details: { field: "customData" },
  });
}

async function findBatch(
  commands: { findBatch(batchId: string): Promise<BatchMetadata | null> },
  batchId: string,
): Promise<BatchMetadata> {
  const batch = await commands.findBatch(batchId);
  if (batch) return batch;
  throw new TallymanError("BATCH_NOT_FOUND", `There is no batch ${batchId}.`, { details: { batchId } });
}

function shownBatch(
  batch: BatchMetadata,
  { caller }: Pick<RouteRequest, "caller">,
  context: RouteContext,
): Omit<BatchMetadata, "customData"> & { customData: unknown } {
  return { ...batch, customData: shownPayload(batch.customData, caller, context) };
}
