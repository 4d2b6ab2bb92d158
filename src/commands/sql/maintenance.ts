import type { Executor, Transaction } from "../../database/index.ts";

/** What a round of maintenance did. */
export interface Maintained {
  readonly reclaimed: number;
  readonly completedBatches: readonly string[];
  /** Batches whose cancellation is still to be carried out. */
  readonly canceledBatches: readonly string[];
}

/** Takes back lost leases and marks expired batches; undefined while another worker does so. */
export async function maintain(
  executor: Executor,
  limits: { readonly leasesMax: number; readonly lostLeasesMax: number; readonly batchesMax: number },
): Promise<Maintained | undefined> {
  const { rows } = await executor.query<Maintained>(
    `SELECT reclaimed, completed_batches AS "completedBatches", canceled_batches AS "canceledBatches"
     FROM tallyman.command_bus_maintain($1, $2, $3)`,
    [limits.leasesMax, limits.lostLeasesMax, limits.batchesMax],
  );
  return rows[0];
}

/** True when this transaction is the only one that prunes. */
export async function lockPruning(tx: Transaction): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>(
    "SELECT pg_try_advisory_xact_lock(hashtextextended('tallyman.command_bus_prune', 0)) AS locked",
  );
  return rows[0]?.locked ?? false;
}

/**
 * Deletes finished commands outside of batches. Ids follow the time of creation and a command can't end
 * before it was made, so the walk along the primary key stops at the first one too young: no index on
 * the time of the end is needed, which every completion would have to write.
 *
 * @returns the last id looked at, null at the end
 */
export async function pruneCommands(
  tx: Transaction,
  step: { readonly after: number; readonly limit: number; readonly olderThanMs: number },
): Promise<{ deleted: number; lastId: number | null }> {
  const { rows } = await tx.query<{ deleted: number; lastId: number | null }>(
    `WITH looked AS MATERIALIZED (
       SELECT c.id, c.batch_id, c.finished_at, c.created_at >= clock_timestamp() - $3 * interval '1 millisecond' AS is_young
       FROM tallyman.command_bus_command c WHERE c.id > $1 ORDER BY c.id LIMIT $2
     ), gone AS (
       DELETE FROM tallyman.command_bus_command WHERE id = ANY (ARRAY (
         SELECT id FROM looked
         WHERE batch_id IS NULL AND finished_at < clock_timestamp() - $3 * interval '1 millisecond'))
       RETURNING id)
     SELECT (SELECT count(*) FROM gone)::integer AS deleted,
            (SELECT CASE WHEN NOT bool_or(is_young) THEN max(id) END FROM looked) AS "lastId"`,
    [step.after, step.limit, step.olderThanMs],
  );
  return rows[0] ?? { deleted: 0, lastId: null };
}

/** Deletes commands of one batch that ended long ago, and the batch with the last of them; undefined when none is due. */
export async function pruneBatch(
  tx: Transaction,
  step: { readonly limit: number; readonly olderThanMs: number },
): Promise<{ deleted: number } | undefined> {
  const { rows } = await tx.query<{ batchId: string }>(
    `UPDATE tallyman.command_bus_batch SET pruned_at = coalesce(pruned_at, clock_timestamp())
     WHERE batch_id = (
       SELECT b.batch_id FROM tallyman.command_bus_batch b
       WHERE b.status IN ('COMPLETED', 'COMPLETED_WITH_FAILURES')
         AND b.completed_at < clock_timestamp() - $1 * interval '1 millisecond'
         -- It was created before it ended: what is younger is not looked at. In a SELECT, for an index takes no
         -- value that changes from row to row.
         AND b.created_at < (SELECT clock_timestamp() - $1 * interval '1 millisecond')
       ORDER BY b.created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING batch_id AS "batchId"`,
    [step.olderThanMs],
  );
  const batchId = rows[0]?.batchId;
  if (batchId === undefined) return undefined;
  const { rowCount } = await tx.query(
    `DELETE FROM tallyman.command_bus_command WHERE id = ANY (ARRAY (
       SELECT id FROM tallyman.command_bus_command WHERE batch_id = $1 ORDER BY id LIMIT $2))`,
    [batchId, step.limit],
  );
  if ((rowCount ?? 0) < step.limit) {
    await tx.query("DELETE FROM tallyman.command_bus_batch WHERE batch_id = $1", [batchId]);
  }
  return { deleted: rowCount ?? 0 };
}

/** Deletes old audit groups, the oldest first; undefined when none was old enough. */
export async function pruneAudit(
  tx: Transaction,
  step: { readonly limit: number; readonly olderThanMs: number },
): Promise<{ deleted: number } | undefined> {
  const { rows } = await tx.query<{ groups: number; deleted: number }>(
    `WITH gone AS (
       DELETE FROM tallyman.command_bus_audit_group WHERE group_id = ANY (ARRAY (
         SELECT group_id FROM (SELECT * FROM tallyman.command_bus_audit_group ORDER BY group_id LIMIT $1) oldest
         WHERE created_at < clock_timestamp() - $2 * interval '1 millisecond'))
       RETURNING coalesce(cardinality(command_rows), 1) AS events)
     SELECT count(*)::integer AS groups, coalesce(sum(events), 0)::integer AS deleted FROM gone`,
    [step.limit, step.olderThanMs],
  );
  const [done] = rows;
  return done && done.groups > 0 ? { deleted: done.deleted } : undefined;
}
