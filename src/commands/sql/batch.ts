import type { Executor, Transaction } from "../../database/index.ts";
import type { BatchMetadata, BatchStatus } from "../batch.ts";

const batchColumns = `batch_id AS "batchId", domain, name, custom_data AS "customData", status, total_count AS "totalCount",
  completed_count AS "completedCount", failed_count AS "failedCount", canceled_count AS "canceledCount",
  in_troubleshooting_count AS "inTroubleshootingCount", created_at AS "createdAt", started_at AS "startedAt",
  completed_at AS "completedAt", is_sealed AS "isSealed", priority, expires_at AS "expiresAt", canceled_at AS "canceledAt"`;

/** A batch about to be stored. */
export interface NewBatch {
  readonly batchId: string;
  readonly domain: string;
  readonly name: string | null;
  readonly customData: string | null;
  readonly totalCount: number;
  readonly isSealed: boolean;
  readonly priority: number;
  readonly expiresAt: Date | null;
  readonly completion: string | null;
}

/** Stores a batch; its commands follow in the same transaction. Returns that transaction's id. */
export async function insertBatch(executor: Executor, batch: NewBatch): Promise<string> {
  const { rows } = await executor.query<{ xid: string }>(
    "SELECT tallyman.command_bus_insert_batch($1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9::jsonb) AS xid",
    [
      batch.batchId,
      batch.domain,
      batch.name,
      batch.customData,
      batch.totalCount,
      batch.isSealed,
      batch.priority,
      batch.expiresAt,
      batch.completion,
    ],
  );
  return rows[0]?.xid ?? "0";
}

/** One batch of a domain. */
export async function selectBatch(
  executor: Executor,
  domain: string,
  batchId: string,
): Promise<BatchMetadata | null> {
  const { rows } = await executor.query<BatchMetadata>(
    `SELECT ${batchColumns} FROM tallyman.command_bus_batch WHERE domain = $1 AND batch_id = $2`,
    [domain, batchId],
  );
  return rows[0] ?? null;
}

/** Batches by id, of any domain. */
export async function selectBatchesById(
  executor: Executor,
  batchIds: readonly string[],
): Promise<BatchMetadata[]> {
  const { rows } = await executor.query<BatchMetadata>(
    `SELECT ${batchColumns} FROM tallyman.command_bus_batch WHERE batch_id = ANY ($1::uuid[])`,
    [batchIds],
  );
  return rows;
}

/** Those of these batches that have completed. */
export async function selectFinished(
  executor: Executor,
  batchIds: readonly string[],
): Promise<BatchMetadata[]> {
  const { rows } = await executor.query<BatchMetadata>(
    `SELECT ${batchColumns} FROM tallyman.command_bus_batch
     WHERE batch_id = ANY ($1::uuid[]) AND completed_at IS NOT NULL`,
    [batchIds],
  );
  return rows;
}

/** How these transactions ended; those still under way, or too old to be known, are missing. */
export async function endedTransactions(
  executor: Executor,
  xids: readonly string[],
): Promise<Map<string, "committed" | "aborted">> {
  const { rows } = await executor.query<{ xid: string; outcome: "committed" | "aborted" }>(
    `SELECT xid, pg_xact_status(xid::xid8) AS outcome FROM unnest($1::text[]) AS xid
     WHERE pg_xact_status(xid::xid8) IN ('committed', 'aborted')`,
    [xids],
  );
  return new Map(rows.map(({ xid, outcome }) => [xid, outcome]));
}

/** A page of a domain's batches. */
export interface BatchPage {
  readonly status: BatchStatus | null;
  readonly limit: number;
  readonly offset: number;
  /** The last batch of the page before. */
  readonly cursor: string | null;
}

/** Batches of a domain, or of all, newest first. */
export async function selectBatches(
  executor: Executor,
  domain: string | null,
  page: BatchPage,
): Promise<BatchMetadata[]> {
  const { rows } = await executor.query<BatchMetadata>(
    `SELECT ${batchColumns} FROM tallyman.command_bus_batch b
     WHERE ($1::text IS NULL OR b.domain = $1) AND ($2::text IS NULL OR b.status = $2)
       AND ($5::uuid IS NULL OR (b.created_at, b.batch_id) <
            (SELECT c.created_at, c.batch_id FROM tallyman.command_bus_batch c WHERE c.batch_id = $5))
     ORDER BY b.created_at DESC, b.batch_id DESC LIMIT $3 OFFSET $4`,
    [domain, page.status, page.limit, page.offset, page.cursor],
  );
  return rows;
}

/** Seals a batch, and completes it when nothing is left to wait for. Null when it is not there. */
export async function sealBatch(
  executor: Transaction,
  domain: string,
  batchId: string,
): Promise<{ completedBatches: string[] } | null> {
  const { rowCount } = await executor.query(
    "UPDATE tallyman.command_bus_batch SET is_sealed = true WHERE batch_id = $2 AND domain = $1",
    [domain, batchId],
  );
  if (rowCount === 0) return null;
  return checkCompletion(executor, batchId);
}

/** Completes a batch whose commands have all ended. */
export async function checkCompletion(
  executor: Executor,
  batchId: string,
): Promise<{ completedBatches: string[] }> {
  const { rows } = await executor.query<{ completedBatches: string[] }>(
    `SELECT tallyman.command_bus_count(ARRAY[$1::uuid], '{0}', '{0}', '{0}', '{0}') AS "completedBatches"`,
    [batchId],
  );
  return rows[0] ?? { completedBatches: [] };
}

/** How many commands of a batch nobody has begun: those that wait, and those in troubleshooting. */
export async function countCancelable(executor: Executor, batchId: string): Promise<number> {
  const { rows } = await executor.query<{ count: number }>(
    `SELECT (coalesce(sum(cardinality(q.command_rows)), 0) + (SELECT coalesce(sum(b.in_troubleshooting_count), 0)
       FROM tallyman.command_bus_batch b WHERE b.batch_id = $1))::integer AS count
     FROM tallyman.command_bus_queue q WHERE q.batch_id = $1`,
    [batchId],
  );
  return rows[0]?.count ?? 0;
}

/** Marks a batch as cancelled and sealed; undefined when it is not there or has ended. */
export async function markCanceled(
  executor: Executor,
  domain: string,
  batchId: string,
  operator: string,
): Promise<{ readonly canceledBefore: number } | undefined> {
  const { rows } = await executor.query<{ canceledBefore: number }>(
    `UPDATE tallyman.command_bus_batch
     SET canceled_at = coalesce(canceled_at, clock_timestamp()), canceled_by = coalesce(canceled_by, $3), is_sealed = true
     WHERE batch_id = $2 AND domain = $1 AND completed_at IS NULL
     RETURNING canceled_count AS "canceledBefore"`,
    [domain, batchId, operator],
  );
  return rows[0];
}

/** A batch that was cancelled, and who did it. */
export interface Cancellation {
  readonly domain: string;
  readonly batchId: string;
  readonly canceledBy: string;
}

/** Who cancelled these batches. */
export async function selectCancellations(
  executor: Executor,
  batchIds: readonly string[],
): Promise<Cancellation[]> {
  const { rows } = await executor.query<Cancellation>(
    `SELECT domain, batch_id AS "batchId", canceled_by AS "canceledBy"
     FROM tallyman.command_bus_batch WHERE batch_id = ANY ($1::uuid[])`,
    [batchIds],
  );
  return rows;
}

/** Cancels the next commands of a batch that nobody has begun; undefined when nothing was left. */
export async function cancelCommands(
  executor: Executor,
  request: {
    readonly batchId: string;
    readonly blocksMax: number;
    readonly troubledMax: number;
    readonly event: string;
    readonly details: Readonly<Record<string, unknown>>;
  },
): Promise<{ readonly completedBatches: string[] } | undefined> {
  const { rows } = await executor.query<{ completedBatches: string[] }>(
    `SELECT completed_batches AS "completedBatches" FROM tallyman.command_bus_cancel($1, $2, $3, $4, $5::jsonb)`,
    [request.batchId, request.blocksMax, request.troubledMax, request.event, JSON.stringify(request.details)],
  );
  return rows[0];
}
