import type { Executor, Transaction } from "../../database/index.ts";
import type { GrantedClaim } from "./claim-batches.ts";

/** A file and the claim version under which its holder writes. */
export interface HeldClaim {
  readonly filename: string;
  readonly claimVersion: number;
}

/** One step of a file: records `from` to `to` are indexed by the transaction that carries it. */
export interface ClaimStep extends HeldClaim {
  readonly from: number;
  readonly to: number;
  /** Whether `to` is the file's end. */
  readonly completes: boolean;
}

const columnsOf = (claims: readonly HeldClaim[]) => [
  claims.map((claim) => claim.filename),
  claims.map((claim) => claim.claimVersion),
];

const filenamesOf = (rows: readonly { filename: string }[]) => rows.map((row) => row.filename);

/**
 * Extends the leases of claims; returns the files that are still held. A row that a flush has locked is
 * passed over: nobody can take it meanwhile, and waiting for it would let the leases of the others run out.
 */
export async function renewClaims(
  executor: Executor,
  indexerClass: string,
  leaseMs: number,
  claims: readonly HeldClaim[],
): Promise<string[]> {
  const { rows } = await executor.query<{ filename: string }>(
    `WITH held AS MATERIALIZED (
       SELECT b.batch_filename AS filename
       FROM sim.coordinator_batches b
       JOIN unnest($3::text[], $4::bigint[]) AS h(filename, claim_version)
         ON b.batch_filename = h.filename AND b.claim_version = h.claim_version
       WHERE b.indexer_class = $1 AND b.status = 'claimed'
     ), free AS MATERIALIZED (
       SELECT b.batch_filename
       FROM sim.coordinator_batches b JOIN unnest($3::text[], $4::bigint[]) AS h(filename, claim_version)
         ON b.batch_filename = h.filename AND b.claim_version = h.claim_version
       WHERE b.indexer_class = $1 AND b.status = 'claimed'
       ORDER BY b.batch_filename
       FOR NO KEY UPDATE OF b SKIP LOCKED
     ), renewed AS (
       UPDATE sim.coordinator_batches b SET lease_until = clock_timestamp() + $2 * interval '1 millisecond'
       FROM free WHERE b.indexer_class = $1 AND b.batch_filename = free.batch_filename
     )
     SELECT filename FROM held`,
    [indexerClass, leaseMs, ...columnsOf(claims)],
  );
  return filenamesOf(rows);
}

/**
 * Gives claims back: at once, and the attempt does not count; or with a delay during which nobody gets
 * them, after a failure that counts. Returns the files that were still held.
 */
export async function releaseClaims(
  executor: Executor,
  indexerClass: string,
  claims: readonly HeldClaim[],
  delayMs: number,
): Promise<string[]> {
  const { rows } = await executor.query<{ filename: string }>(
    `UPDATE sim.coordinator_batches b
     SET lease_until = CASE WHEN $4 > 0 THEN clock_timestamp() + $4 * interval '1 millisecond' ELSE '-infinity' END,
         attempts = b.attempts - CASE WHEN $4 > 0 THEN 0 ELSE 1 END
     FROM unnest($2::text[], $3::bigint[]) AS h(filename, claim_version)
     WHERE b.indexer_class = $1 AND b.batch_filename = h.filename AND b.claim_version = h.claim_version
       AND b.status = 'claimed'
     RETURNING b.batch_filename AS filename`,
    [indexerClass, ...columnsOf(claims), delayMs],
  );
  return filenamesOf(rows);
}

/** Ends a claim as completed or failed; returns the files whose claim was still held. */
export async function endClaims(
  executor: Executor,
  indexerClass: string,
  status: "completed" | "failed",
  claims: readonly HeldClaim[],
  errorMessage: string | null = null,
): Promise<string[]> {
  const { rows } = await executor.query<{ filename: string }>(
    `UPDATE sim.coordinator_batches b
     SET status = $2, error_message = $3, completed_at = clock_timestamp()
     FROM unnest($4::text[], $5::bigint[]) AS h(filename, claim_version)
     WHERE b.indexer_class = $1 AND b.batch_filename = h.filename AND b.claim_version = h.claim_version
       AND b.status = 'claimed'
     RETURNING b.batch_filename AS filename`,
    [indexerClass, status, errorMessage, ...columnsOf(claims)],
  );
  return filenamesOf(rows);
}

/**
 * Locks the rows of the files that a flush writes, in key order, and returns those whose claim and
 * position are as the holder believes. The first statement of a flush: everything after it is fenced.
 */
export async function lockClaims(
  tx: Transaction,
  indexerClass: string,
  steps: readonly ClaimStep[],
): Promise<string[]> {
  const { rows } = await tx.query<{ filename: string }>(
    `SELECT b.batch_filename AS filename
     FROM sim.coordinator_batches b
     JOIN unnest($2::text[], $3::bigint[], $4::bigint[]) AS s(filename, claim_version, resume_at)
       ON b.batch_filename = s.filename AND b.claim_version = s.claim_version AND b.resume_at = s.resume_at
     WHERE b.indexer_class = $1 AND b.status = 'claimed'
     ORDER BY b.batch_filename
     FOR NO KEY UPDATE OF b`,
    [indexerClass, ...columnsOf(steps), steps.map((step) => step.from)],
  );
  return filenamesOf(rows);
}

/** Moves the positions forward, completing the files that end; returns the files that were moved. */
export async function advanceClaims(
  tx: Transaction,
  indexerClass: string,
  steps: readonly ClaimStep[],
): Promise<string[]> {
  const { rows } = await tx.query<{ filename: string }>(
    `UPDATE sim.coordinator_batches b
     SET resume_at = s.to_position,
         status = CASE WHEN s.completes THEN 'completed' ELSE 'claimed' END,
         completed_at = CASE WHEN s.completes THEN clock_timestamp() END
     FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[])
       AS s(filename, claim_version, from_position, to_position, completes)
     WHERE b.indexer_class = $1 AND b.batch_filename = s.filename AND b.claim_version = s.claim_version
       AND b.resume_at = s.from_position AND b.status = 'claimed'
     RETURNING b.batch_filename AS filename`,
    [
      indexerClass,
      ...columnsOf(steps),
      steps.map((step) => step.from),
      steps.map((step) => step.to),
      steps.map((step) => step.completes),
    ],
  );
  return filenamesOf(rows);
}

/** Where a file stands in the ledger. */
export interface LedgerEntry {
  readonly filename: string;
  readonly status: "claimed" | "completed" | "failed";
  readonly instanceId: string | null;
  readonly claimVersion: number;
  readonly resumeAt: number;
}

/**
 * Reads the ledger's rows of some files, after whoever is writing them has committed or rolled back: a
 * commit whose outcome got lost on the way shows here.
 */
export async function readSettledLedger(
  executor: Executor,
  indexerClass: string,
  filenames: readonly string[],
): Promise<LedgerEntry[]> {
  const { rows } = await executor.query<LedgerEntry>(
    `SELECT ${ledgerColumns}
     FROM sim.coordinator_batches WHERE indexer_class = $1 AND batch_filename = ANY ($2)
     ORDER BY batch_filename FOR NO KEY UPDATE`,
    [indexerClass, filenames],
  );
  return rows.map(toLedgerEntry);
}

/** Reads the ledger's rows of some files. */
export async function readLedger(
  executor: Executor,
  indexerClass: string,
  filenames: readonly string[],
): Promise<LedgerEntry[]> {
  const { rows } = await executor.query<LedgerEntry>(
    `SELECT ${ledgerColumns}
     FROM sim.coordinator_batches WHERE indexer_class = $1 AND batch_filename = ANY ($2)`,
    [indexerClass, filenames],
  );
  return rows.map(toLedgerEntry);
}

const ledgerColumns = `batch_filename AS filename, status, indexer_instance_id AS "instanceId",
  claim_version AS "claimVersion", resume_at AS "resumeAt"`;

function toLedgerEntry(row: LedgerEntry): LedgerEntry {
  return { ...row, claimVersion: Number(row.claimVersion), resumeAt: Number(row.resumeAt) };
}

/** A claim that was taken over from a holder that died, with what the manifest knows of its file. */
export interface TakenOver extends GrantedClaim {
  readonly tickStart: number;
  readonly tickEnd: number;
  /** Null for a file that was claimed without being registered. */
  readonly storageKey: string | null;
  readonly crc: number | null;
}

/** Takes over files whose holder's lease ran out, oldest ticks first, but for those that the claimant holds itself. */
export async function takeOverExpired(
  executor: Executor,
  claimant: { indexerClass: string; instanceId: string; leaseMs: number },
  limit: number,
  held: readonly string[],
): Promise<TakenOver[]> {
  const { rows } = await executor.query<TakenOver>(
    `WITH expired AS MATERIALIZED (
       SELECT batch_filename FROM sim.coordinator_batches
       WHERE indexer_class = $1 AND status = 'claimed' AND lease_until <= clock_timestamp()
         AND batch_filename <> ALL ($5::text[])
       ORDER BY tick_start, batch_filename LIMIT $4
       FOR NO KEY UPDATE SKIP LOCKED
     ), taken AS (
       UPDATE sim.coordinator_batches b
       SET indexer_instance_id = $2, claim_version = b.claim_version + 1, attempts = b.attempts + 1,
           lease_until = clock_timestamp() + $3 * interval '1 millisecond', claimed_at = clock_timestamp()
       FROM expired e WHERE b.indexer_class = $1 AND b.batch_filename = e.batch_filename
       RETURNING b.*
     )
     SELECT t.batch_filename AS filename, t.claim_version AS "claimVersion", t.resume_at AS "resumeAt",
            t.attempts, t.tick_start AS "tickStart", t.tick_end AS "tickEnd",
            f.storage_key AS "storageKey", f.crc
     FROM taken t LEFT JOIN sim.batch_files f USING (batch_filename)`,
    [claimant.indexerClass, claimant.instanceId, claimant.leaseMs, limit, held],
  );
  return rows.toSorted((a, b) => a.tickStart - b.tickStart);
}

/**
 * Ends our own connections that hold a file's row although its lease ran out long ago: a client that
 * stalls inside a COPY is not bound by any of the server's timeouts, and a lock can't be skipped for ever.
 * Returns how many were ended.
 */
export async function endStalledHolders(
  executor: Executor,
  indexerClass: string,
  expiredForMs: number,
): Promise<number> {
  const { rows } = await executor.query<{ ended: number }>(
    `WITH stalled AS MATERIALIZED (
       SELECT DISTINCT a.pid
       FROM sim.coordinator_batches b
       JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = b.xmax
       JOIN pg_stat_activity a ON a.pid = l.pid
       WHERE b.indexer_class = $1 AND b.status = 'claimed'
         AND b.lease_until <= clock_timestamp() - $2 * interval '1 millisecond'
         AND a.usename = current_user AND a.application_name LIKE 'tallyman%' AND a.pid <> pg_backend_pid()
     )
     SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) AS ended FROM stalled`,
    [indexerClass, expiredForMs],
  );
  return Number(rows[0]?.ended ?? 0);
}

/** Which failed files to try again; fields that are absent do not restrict. */
export interface FailedFilter {
  readonly filenames?: readonly string[];
  /** Only files that overlap this inclusive range. */
  readonly tickStart?: number;
  readonly tickEnd?: number;
  /** Only files whose error contains this text. */
  readonly errorContains?: string;
}

/** Makes failed files claimable again; returns them. */
export async function retryFailed(
  executor: Executor,
  indexerClass: string,
  filter: FailedFilter,
): Promise<string[]> {
  const { rows } = await executor.query<{ filename: string }>(
    `UPDATE sim.coordinator_batches
     SET status = 'claimed', lease_until = '-infinity', attempts = 0, error_message = NULL, completed_at = NULL
     WHERE indexer_class = $1 AND status = 'failed'
       AND ($2::text[] IS NULL OR batch_filename = ANY ($2))
       AND ($3::bigint IS NULL OR tick_end >= $3)
       AND ($4::bigint IS NULL OR tick_start <= $4)
       AND ($5::text IS NULL OR position($5 IN error_message) > 0)
     RETURNING batch_filename AS filename`,
    [
      indexerClass,
      filter.filenames ?? null,
      filter.tickStart ?? null,
      filter.tickEnd ?? null,
      filter.errorContains ?? null,
    ],
  );
  return filenamesOf(rows);
}

/** The highest last tick among completed files, or -1. */
export async function maxCompletedTickEnd(executor: Executor, indexerClass: string): Promise<number> {
  const { rows } = await executor.query<{ tick_end: number | string }>(
    `SELECT coalesce(max(tick_end), -1) AS tick_end
     FROM sim.coordinator_batches WHERE indexer_class = $1 AND status = 'completed'`,
    [indexerClass],
  );
  return Number(rows[0]?.tick_end ?? -1);
}
