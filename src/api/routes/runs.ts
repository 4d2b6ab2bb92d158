import { Type } from "typebox";
import {
  accountForRun,
  bucketTicks,
  countClaims,
  getRun,
  indexerNotFound,
  listFailedFiles,
  listGaps,
  listIndexerClasses,
  listRuns,
  type RunAccount,
} from "../../coordination/index.ts";
import { type Database, openRun, type RunDatabase } from "../../database/index.ts";
import { redriveFiles, reindex } from "../../pipeline/index.ts";
import { action, closed, route } from "../route.ts";
import {
  invalidField,
  Limit,
  limitDefault,
  MaybeInteger,
  MaybeText,
  MaybeTimestamp,
  Name,
  NumberCursor,
  oneOf,
  page,
  Reason,
  RunId,
  Tick,
  Timestamp,
  TopicName,
  toPage,
} from "../schemas.ts";

const runsDefault = 20;
const runsMax = 100;
const bucketsDefault = 200;
const bucketsMax = 1_000;
const filesMax = 1_000;

const count = Type.Integer();

const Run = Type.Object(
  {
    runId: Type.String(),
    schema: Type.String(),
    registeredAt: Timestamp,
    indexerClasses: Type.Array(Type.String()),
    metadata: Type.Union([
      Type.Object(
        {
          startedAt: Timestamp,
          initialSeed: Type.String(),
          samplingInterval: Type.Integer(),
          declaredEndTick: MaybeInteger,
          worldShape: Type.Array(Type.Integer()),
        },
        closed,
      ),
      Type.Null(),
    ]),
  },
  closed,
);

const tickClasses = { indexed: count, in_flight: count, failed: count, pending: count, permanent: count };

const Account = Type.Object(
  {
    indexerClass: Type.String(),
    samplingInterval: count,
    endDeclared: Type.Boolean(),
    expected: count,
    counts: Type.Object(tickClasses, closed),
    unaccounted: count,
    buckets: Type.Array(Type.Object({ start: count, end: count, ...tickClasses, missing: count }, closed)),
  },
  closed,
);

const Gap = Type.Object(
  {
    gapStartTick: count,
    gapEndTick: count,
    firstDetected: Timestamp,
    status: oneOf(["pending", "permanent"]),
  },
  closed,
);

const Claim = Type.Object(
  {
    indexerClass: Type.String(),
    status: oneOf(["claimed", "completed", "failed"]),
    instanceId: MaybeText,
    files: count,
  },
  closed,
);

const FailedFile = Type.Object(
  {
    filename: Type.String(),
    tickStart: count,
    tickEnd: count,
    attempts: count,
    instanceId: MaybeText,
    failedAt: MaybeTimestamp,
    error: MaybeText,
  },
  closed,
);

const OneRun = Type.Object({ runId: RunId }, closed);

/** Runs, and how completely they are indexed. */
export const runRoutes = {
  "GET /api/runs": route(
    {
      summary: "List runs, the newest first",
      role: "read",
      query: Type.Object(
        {
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: runsMax, default: runsDefault })),
          cursor: Type.Optional(RunId),
        },
        closed,
      ),
      data: page(Run),
    },
    async ({ database }, { query: { limit = runsDefault, cursor } }) =>
      toPage(await listRuns(database, { limit, cursor }), limit, ({ runId }) => runId),
  ),

  "GET /api/runs/:runId": route(
    { summary: "Get one run", role: "read", params: OneRun, data: Run },
    ({ database }, { params: { runId } }) => getRun(database, runId),
  ),

  "GET /api/runs/:runId/ticks": route(
    {
      summary:
        "Account for every expected tick by indexer class, in a fixed number of buckets: the gap strip",
      role: "read",
      params: OneRun,
      query: Type.Object(
        {
          indexerClass: Type.Optional(Name),
          from: Type.Optional(Tick),
          to: Type.Optional(Tick),
          buckets: Type.Optional(Type.Integer({ minimum: 1, maximum: bucketsMax, default: bucketsDefault })),
        },
        closed,
      ),
      data: Type.Array(Account),
    },
    async ({ database }, { params: { runId }, query: { indexerClass, ...strip } }) => {
      if ((strip.to ?? Number.MAX_SAFE_INTEGER) < (strip.from ?? 0))
        throw invalidField("to", "it comes before 'from'");
      const accounts = await accountForRun(database, runId, indexerClass);
      return accounts.map((account) => shownAccount(account, strip));
    },
  ),

  "GET /api/runs/:runId/gaps": route(
    {
      summary: "List the gaps of an indexer class in tick order",
      role: "read",
      params: OneRun,
      query: Type.Object(
        {
          indexerClass: Name,
          status: Type.Optional(oneOf(["pending", "permanent"])),
          limit: Limit,
          cursor: NumberCursor,
        },
        closed,
      ),
      data: page(Gap),
    },
    async ({ database }, { params: { runId }, query }) => {
      const { indexerClass, status, limit = limitDefault, cursor: after } = query;
      const run = await openIndexed(database, runId, indexerClass);
      const gaps = await listGaps(run, indexerClass, { limit, status, after });
      return toPage(gaps, limit, ({ gapStartTick }) => `${gapStartTick}`);
    },
  ),

  "GET /api/runs/:runId/claims": route(
    {
      summary: "Count files by indexer class, status and the instance that claimed them last",
      role: "read",
      params: OneRun,
      data: Type.Array(Claim),
    },
    async ({ database }, { params: { runId } }) => countClaims(await openRun(database, runId)),
  ),

  "GET /api/runs/:runId/failed-files": route(
    {
      summary: "List the files that an indexer class gave up, with their errors",
      role: "read",
      params: OneRun,
      query: Type.Object({ indexerClass: Name, limit: Limit, cursor: Type.Optional(Name) }, closed),
      data: page(FailedFile),
    },
    async ({ database }, { params: { runId }, query }) => {
      const { indexerClass, limit = limitDefault, cursor: after } = query;
      const run = await openIndexed(database, runId, indexerClass);
      const files = await listFailedFiles(run, indexerClass, { limit, after });
      return toPage(files, limit, ({ filename }) => filename);
    },
  ),

  "POST /api/runs/:runId/retry": action(
    {
      summary:
        "Let an indexer try files again that it gave up; with a topic, send their dead letters back too",
      role: "operate",
      action: "run.retry",
      params: OneRun,
      body: Type.Object(
        {
          indexerClass: Name,
          topic: Type.Optional(TopicName),
          group: Type.Optional(TopicName),
          filenames: Type.Optional(Type.Array(Name, { minItems: 1, maxItems: filesMax })),
          tickStart: Type.Optional(Tick),
          tickEnd: Type.Optional(Tick),
          errorContains: Type.Optional(Name),
          reason: Reason,
        },
        closed,
      ),
      data: Type.Object({ files: count, messages: count }, closed),
    },
    async ({ database, topics }, { params: { runId }, body: { reason: _reason, ...target } }) => {
      const { indexerClass, topic, group, ...files } = target;
      await openIndexed(database, runId, indexerClass);
      const scope = { runId, indexerClass, ...(topic && { topic }), ...(group && { group }), files };
      const data = await redriveFiles(database, topics, scope);
      return { data, target: { runId, ...target }, changed: data.files };
    },
  ),

  "POST /api/runs/:runId/reindex": action(
    {
      summary: "Empty an indexer's tables of a run and let it index everything again",
      role: "admin",
      action: "run.reindex",
      params: OneRun,
      body: Type.Object({ indexerClass: Name, topic: Type.Optional(TopicName), reason: Reason }, closed),
      data: Type.Object({ indexerClass: Type.String(), tables: Type.Array(Type.String()) }, closed),
    },
    async ({ database, topics }, { params: { runId }, body: { reason: _reason, ...target } }) => {
      const { indexerClass, tables } = await reindex(database, topics, { runId, ...target });
      return { data: { indexerClass, tables }, target: { runId, ...target }, changed: tables.length };
    },
  ),
};

/** The tables of a run that this indexer class has worked on. */
async function openIndexed(database: Database, runId: string, indexerClass: string): Promise<RunDatabase> {
  const run = await openRun(database, runId);
  if ((await listIndexerClasses(run)).includes(indexerClass)) return run;
  throw indexerNotFound(runId, indexerClass);
}

function shownAccount(
  { ranges, ...account }: RunAccount,
  { buckets = bucketsDefault, ...range }: { from?: number; to?: number; buckets?: number },
) {
  const { samplingInterval } = account;
  const counted = bucketTicks(ranges, { samplingInterval, buckets, ...range });
  return { ...account, buckets: counted.map(({ counts, ...bucket }) => ({ ...bucket, ...counts })) };
}
