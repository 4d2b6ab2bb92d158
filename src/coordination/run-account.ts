import { type Database, openRun } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { findMetadata } from "./metadata.ts";
import { listIndexerClasses } from "./sql/tick-account.ts";
import { accountForTicks, type TickAccount } from "./tick-account.ts";

/** The account of one indexer class. */
export interface RunAccount extends TickAccount {
  readonly indexerClass: string;
  readonly samplingInterval: number;
  /** False: the producer has not said where it ends, so a missing tail can't be seen. */
  readonly endDeclared: boolean;
}

/**
 * Accounts for every expected tick of a run, for each indexer class that has worked on it or for the one named. What
 * is expected, the run's metadata says; without metadata, every tick up to the last that is known.
 *
 * @throws TallymanError RUN_NOT_FOUND, INDEXER_NOT_FOUND
 * @example
 * ```ts
 * for (const { indexerClass, counts } of await accountForRun(database, "run-1")) console.log(indexerClass, counts);
 * ```
 */
export async function accountForRun(
  database: Database,
  runId: string,
  indexerClass?: string,
): Promise<RunAccount[]> {
  const classes = await listIndexerClasses(await openRun(database, runId));
  if (indexerClass !== undefined && !classes.includes(indexerClass))
    throw indexerNotFound(runId, indexerClass);
  const { samplingInterval = 1, declaredEndTick } = (await findMetadata(database, runId)) ?? {};
  const declaredEnd = declaredEndTick === undefined ? undefined : Number(declaredEndTick);
  const wanted = indexerClass === undefined ? classes : [indexerClass];
  return Promise.all(
    wanted.map(async (name) => ({
      indexerClass: name,
      samplingInterval,
      endDeclared: declaredEnd !== undefined,
      ...(await accountForTicks(database, runId, name, { samplingInterval, declaredEnd })),
    })),
  );
}

/** No indexer of this class has worked on the run. */
export function indexerNotFound(runId: string, indexerClass: string): TallymanError {
  return new TallymanError(
    "INDEXER_NOT_FOUND",
    `No indexer ${indexerClass} has worked on run ${runId}. 'tallyman gaps --run ${runId}' shows those that have.`,
    { details: { runId, indexerClass } },
  );
}
