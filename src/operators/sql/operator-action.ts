import type { Executor } from "../../database/index.ts";

/** Something that an operator did. */
export interface OperatorAction {
  readonly actionId: number;
  readonly createdAt: Date;
  readonly actor: string;
  /** What was done, such as `tsq.retry`. */
  readonly action: string;
  /** To what: ids, or the filter that was given. */
  readonly target: Readonly<Record<string, unknown>>;
  /** How many commands, jobs, files, … changed. */
  readonly changed: number;
  readonly reason: string | null;
  readonly requestId: string;
}

/** Writes down an action, in the transaction that does it. */
export async function recordAction(
  executor: Executor,
  action: Omit<OperatorAction, "actionId" | "createdAt">,
): Promise<void> {
  await executor.query(
    `INSERT INTO tallyman.operator_action (actor, action, target, changed, reason, request_id)
     VALUES ($1, $2, $3::jsonb, $4, $5, $6)`,
    [
      action.actor,
      action.action,
      JSON.stringify(action.target),
      action.changed,
      action.reason,
      action.requestId,
    ],
  );
}

/** Which actions; every field given must match. */
export interface OperatorActionFilter {
  readonly actor?: string | undefined;
  /** The action, or its first part: `tsq` means `tsq.retry` and all the others. */
  readonly action?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  /** `actionId` of the last one of the page before. */
  readonly before?: number | undefined;
}

/** Operators' actions, newest first. */
export async function listOperatorActions(
  executor: Executor,
  { actor, action, limit = 100, before }: OperatorActionFilter = {},
): Promise<OperatorAction[]> {
  const { rows } = await executor.query<OperatorAction>(
    `SELECT action_id AS "actionId", created_at AS "createdAt", actor, action, target, changed, reason,
            request_id AS "requestId"
     FROM tallyman.operator_action
     WHERE ($1::text IS NULL OR actor = $1)
       AND ($2::text IS NULL OR action = $2 OR starts_with(action, $2 || '.'))
       AND ($4::bigint IS NULL OR action_id < $4)
     ORDER BY action_id DESC LIMIT $3`,
    [actor ?? null, action ?? null, limit, before ?? null],
  );
  return rows;
}
