import type { Transaction } from "../../database/index.ts";

/** What was asked under a key, and answered. */
export interface StoredAnswer {
  readonly requestHash: Buffer;
  readonly answer: unknown;
}

/** Takes a key, or returns what it was used for. Waits for a transaction that has just taken it. */
export async function claimKey(
  tx: Transaction,
  actor: string,
  key: string,
  requestHash: Buffer,
): Promise<StoredAnswer | undefined> {
  await tx.query(
    `DELETE FROM tallyman.idempotency_key WHERE (actor, idempotency_key) IN (
       SELECT actor, idempotency_key FROM tallyman.idempotency_key
       WHERE created_at < clock_timestamp() - interval '1 day' ORDER BY created_at LIMIT 100 FOR UPDATE SKIP LOCKED)`,
  );
  const { rowCount } = await tx.query(
    `INSERT INTO tallyman.idempotency_key (actor, idempotency_key, request_hash) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING`,
    [actor, key, requestHash],
  );
  if (rowCount === 1) return undefined;
  const { rows } = await tx.query<StoredAnswer>(
    `SELECT request_hash AS "requestHash", answer FROM tallyman.idempotency_key
     WHERE actor = $1 AND idempotency_key = $2`,
    [actor, key],
  );
  return rows[0];
}

/** Keeps the answer with its key. */
export async function storeAnswer(
  tx: Transaction,
  actor: string,
  key: string,
  answer: unknown,
): Promise<void> {
  await tx.query(
    "UPDATE tallyman.idempotency_key SET answer = $3::jsonb WHERE actor = $1 AND idempotency_key = $2",
    [actor, key, JSON.stringify(answer ?? null)],
  );
}
