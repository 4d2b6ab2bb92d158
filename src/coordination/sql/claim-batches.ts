import type { Executor } from "../../database/index.ts";

/** A file that an instance wants to process. */
export interface BatchToClaim {
  readonly filename: string;
  readonly tickStart: number;
  readonly tickEnd: number;
}

/** A claim that was granted: the fence of everything that its holder writes about the file. */
export interface GrantedClaim {
  readonly filename: string;
  readonly claimVersion: number;
  /** Records that earlier holders indexed already. */
  readonly resumeAt: number;
  /** How often the file was claimed, this time included. */
  readonly attempts: number;
}

/** Why a claim was refused. */
export interface RefusedClaim {
  readonly filename: string;
  readonly status: "claimed" | "completed" | "failed";
}

interface ClaimRow {
  filename: string;
  claim_version: string | number | null;
  resume_at: string | number | null;
  attempts: number | null;
  status: RefusedClaim["status"] | null;
}

/**
 * Claims many files in one statement. New files are inserted; a file whose lease ran out is taken over
 * with the next claim version. SKIP LOCKED: a row that a flush holds at this moment is not waited for.
 * Both steps go through the keys in order, so that two callers never wait for each other in a circle.
 *
 * What was taken over and what was refused is looked up by its key (`= ANY`, a subquery), not joined: of a run that
 * nobody has analysed yet the planner believes that a class has one file, and would read them all for every claim.
 */
export async function claimBatches(
  executor: Executor,
  claimant: { indexerClass: string; instanceId: string; leaseMs: number },
  batches: readonly BatchToClaim[],
): Promise<{ granted: GrantedClaim[]; refused: RefusedClaim[] }> {
  const { rows } = await executor.query<ClaimRow>(
    `WITH wanted AS MATERIALIZED (
       SELECT filename, min(tick_start) AS tick_start, max(tick_end) AS tick_end
       FROM unnest($4::text[], $5::bigint[], $6::bigint[]) AS w(filename, tick_start, tick_end)
       GROUP BY filename
     ), inserted AS (
       INSERT INTO sim.coordinator_batches
         (indexer_class, batch_filename, tick_start, tick_end, status, indexer_instance_id, claim_version, lease_until, claimed_at)
       SELECT $1, filename, tick_start, tick_end, 'claimed', $2, 1,
              clock_timestamp() + $3 * interval '1 millisecond', clock_timestamp()
       FROM wanted ORDER BY filename
       ON CONFLICT (indexer_class, batch_filename) DO NOTHING
       RETURNING batch_filename AS filename, claim_version, resume_at, attempts
     ), expired AS MATERIALIZED (
       SELECT b.batch_filename
       FROM sim.coordinator_batches b JOIN wanted w ON w.filename = b.batch_filename
       WHERE b.indexer_class = $1 AND b.status = 'claimed' AND b.lease_until <= clock_timestamp()
         AND NOT EXISTS (SELECT FROM inserted i WHERE i.filename = w.filename)
       ORDER BY b.batch_filename
       FOR NO KEY UPDATE OF b SKIP LOCKED
     ), taken_over AS (
       UPDATE sim.coordinator_batches b
       SET indexer_instance_id = $2, claim_version = b.claim_version + 1, attempts = b.attempts + 1,
           lease_until = clock_timestamp() + $3 * interval '1 millisecond', claimed_at = clock_timestamp()
       WHERE b.indexer_class = $1 AND b.batch_filename = ANY (ARRAY (SELECT batch_filename FROM expired))
       RETURNING b.batch_filename AS filename, b.claim_version, b.resume_at, b.attempts
     ), granted AS (
       SELECT * FROM inserted UNION ALL SELECT * FROM taken_over
     )
     SELECT w.filename, g.claim_version, g.resume_at, g.attempts,
            CASE WHEN g.filename IS NULL THEN (
              SELECT b.status FROM sim.coordinator_batches b
              WHERE b.indexer_class = $1 AND b.batch_filename = w.filename) END AS status
     FROM wanted w LEFT JOIN granted g USING (filename)`,
    [
      claimant.indexerClass,
      claimant.instanceId,
      claimant.leaseMs,
      batches.map((batch) => batch.filename),
      batches.map((batch) => batch.tickStart),
      batches.map((batch) => batch.tickEnd),
    ],
  );
  const granted = rows.filter((row) => row.claim_version !== null).map(toGranted);
  // The statement's snapshot may be older than a row that another caller just inserted: then it is claimed.
  const refused = rows
    .filter((row) => row.claim_version === null)
    .map((row) => ({ filename: row.filename, status: row.status ?? "claimed" }));
  return { granted, refused };
}

function toGranted(row: ClaimRow): GrantedClaim {
  return {
    filename: row.filename,
    claimVersion: Number(row.claim_version),
    resumeAt: Number(row.resume_at),
    attempts: Number(row.attempts),
  };
}
