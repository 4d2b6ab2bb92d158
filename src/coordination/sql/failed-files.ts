import type { Executor } from "../../database/index.ts";

/** A file that an indexer gave up. */
export interface FailedFile {
  readonly filename: string;
  readonly tickStart: number;
  readonly tickEnd: number;
  readonly attempts: number;
  readonly instanceId: string | null;
  readonly failedAt: Date | null;
  readonly error: string | null;
}

/** Files that an indexer class gave up, by name, which is in the order of ticks; `after` is the last of the page before. */
export async function listFailedFiles(
  executor: Executor,
  indexerClass: string,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<FailedFile[]> {
  const { rows } = await executor.query<FailedFile>(
    `SELECT batch_filename AS filename, tick_start AS "tickStart", tick_end AS "tickEnd", attempts,
            indexer_instance_id AS "instanceId", completed_at AS "failedAt", error_message AS error
     FROM sim.coordinator_batches
     WHERE indexer_class = $1 AND status = 'failed' AND ($3::text IS NULL OR batch_filename > $3)
     ORDER BY batch_filename LIMIT $2`,
    [indexerClass, limit, after ?? null],
  );
  return rows;
}
