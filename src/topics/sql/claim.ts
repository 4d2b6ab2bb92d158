import type { Executor } from "../../database/index.ts";

/** Who claims, and how much. */
export interface ClaimInput {
  readonly topicId: number;
  readonly groupId: number;
  readonly runId: string;
  readonly max: number;
  /** 0: the claim never runs out. */
  readonly claimTimeoutMs: number;
  readonly owner: string;
}

/** A message that the claim got. */
export interface ClaimedRow {
  readonly messageId: number;
  readonly claimVersion: number;
  readonly deliveries: number;
  readonly key: string | null;
  readonly payload: Buffer;
  readonly publishedAt: Date;
}

/** What a claim found. */
export type Claim =
  | { readonly kind: "claimed"; readonly rows: readonly ClaimedRow[] }
  /** Nothing yet; `nextDueMs`: until the next claim or delay runs out, null when none will. */
  | { readonly kind: "empty"; readonly nextDueMs: number | null }
  | { readonly kind: "group-gone" };

interface ResultRow extends ClaimedRow {
  readonly nextDueMs: number | null;
}

/**
 * Claims up to `max` messages in order, those whose claim or delay has run out first, and skips what
 * others are claiming at this moment. The version comes from a sequence, drawn while the row is locked:
 * it grows with every claim of a message, even when a seek has made the row anew.
 *
 * `= ANY(ARRAY(…))` instead of a join keeps the plan on the primary key, whatever the statistics say of
 * a table that was empty a moment ago.
 */
export async function claim(executor: Executor, input: ClaimInput): Promise<Claim> {
  const { topicId, groupId, runId, max, claimTimeoutMs, owner } = input;
  const { rows } = await executor.query<ResultRow | { messageId: null; nextDueMs: number | null }>(
    claimText,
    [groupId, runId, max, claimTimeoutMs === 0 ? null : claimTimeoutMs, owner, topicId],
  );
  const [first] = rows;
  if (!first) return { kind: "group-gone" };
  if (first.messageId === null) return { kind: "empty", nextDueMs: first.nextDueMs };
  return { kind: "claimed", rows: rows as ResultRow[] };
}

const claimText = `
WITH grp AS MATERIALIZED (
  SELECT is_paused FROM tallyman.topic_group WHERE group_id = $1
), expired AS MATERIALIZED (
  SELECT message_id FROM tallyman.topic_delivery
  WHERE group_id = $1 AND run_id = $2 AND state <> 'ready' AND visible_at <= (SELECT clock_timestamp())
    AND (SELECT NOT is_paused FROM grp)
  ORDER BY visible_at LIMIT $3 FOR UPDATE SKIP LOCKED
), ready AS MATERIALIZED (
  SELECT message_id FROM tallyman.topic_delivery
  WHERE group_id = $1 AND run_id = $2 AND state = 'ready' AND (SELECT NOT is_paused FROM grp)
  ORDER BY message_id LIMIT $3 - (SELECT count(*) FROM expired) FOR UPDATE SKIP LOCKED
), claimed AS (
  UPDATE tallyman.topic_delivery d
  SET state = 'claimed', owner = $5, deliveries = d.deliveries + 1,
      claim_version = nextval('tallyman.topic_claim_version'),
      visible_at = coalesce(clock_timestamp() + $4::float8 * interval '1 ms', 'infinity')
  WHERE d.group_id = $1
    AND d.message_id = ANY (ARRAY(SELECT message_id FROM expired UNION ALL SELECT message_id FROM ready))
  RETURNING d.message_id, d.claim_version, d.deliveries
)
SELECT c.message_id AS "messageId", c.claim_version AS "claimVersion", c.deliveries,
       m.message_key AS key, m.payload, m.published_at AS "publishedAt",
       CASE WHEN c.message_id IS NULL THEN (
         SELECT extract(epoch FROM visible_at - clock_timestamp())::float8 * 1000 FROM tallyman.topic_delivery
         WHERE group_id = $1 AND run_id = $2 AND state <> 'ready' AND visible_at < 'infinity'
           AND NOT grp.is_paused
         ORDER BY visible_at LIMIT 1) END AS "nextDueMs"
FROM grp
LEFT JOIN (claimed c JOIN tallyman.topic_message m ON m.topic_id = $6 AND m.message_id = c.message_id) ON true
ORDER BY c.message_id`;
