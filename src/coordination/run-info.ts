import { type Database, findRun, newestRuns, type RegisteredRun, runNotFound } from "../database/index.ts";
import { findMetadata } from "./metadata.ts";
import { listIndexerClasses } from "./sql/tick-account.ts";

/** What a producer said about its run. */
export interface RunMetadata {
  readonly startedAt: Date;
  /** As text: a seed may be beyond 2^53. */
  readonly initialSeed: string;
  readonly samplingInterval: number;
  /** The last tick that it will sample; null while it is not known. */
  readonly declaredEndTick: number | null;
  /** Cells along each dimension of the world. */
  readonly worldShape: readonly number[];
}

/** A run as the database knows it. */
export interface RunInfo {
  readonly runId: string;
  readonly schema: string;
  readonly registeredAt: Date;
  /** Those that have worked on it. */
  readonly indexerClasses: readonly string[];
  /** Null while it is not indexed. */
  readonly metadata: RunMetadata | null;
}

/** A page of runs, the newest first; `cursor` is the id of the last run of the page before. */
export async function listRuns(
  database: Database,
  page: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<RunInfo[]> {
  const runs = await newestRuns(database, page);
  return Promise.all(runs.map((run) => describeRun(database, run)));
}

/** @throws TallymanError RUN_NOT_FOUND */
export async function getRun(database: Database, runId: string): Promise<RunInfo> {
  const run = await findRun(database, runId);
  if (!run) throw runNotFound(runId);
  return describeRun(database, run);
}

async function describeRun(
  database: Database,
  { runId, schemaName, createdAt }: RegisteredRun,
): Promise<RunInfo> {
  const [indexerClasses, metadata] = await Promise.all([
    listIndexerClasses(database.forRun(schemaName)),
    metadataOf(database, runId),
  ]);
  return { runId, schema: schemaName, registeredAt: createdAt, indexerClasses, metadata };
}

async function metadataOf(database: Database, runId: string): Promise<RunMetadata | null> {
  const metadata = await findMetadata(database, runId);
  if (!metadata) return null;
  const { startTimeMs, initialSeed, samplingInterval = 1, declaredEndTick, environment } = metadata;
  return {
    startedAt: new Date(Number(startTimeMs)),
    initialSeed: String(initialSeed),
    samplingInterval,
    declaredEndTick: declaredEndTick === undefined ? null : Number(declaredEndTick),
    worldShape: environment?.shape ?? [],
  };
}
