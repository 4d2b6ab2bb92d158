import type { Executor, Transaction } from "../../database/index.ts";
import type { CommandMetadata, CommandStatus } from "../command.ts";

/** How far a command's row may be from the first one of its block. */
const blockSpanMax = 20_000;

/** The command's state: the table does not tell waiting commands and held ones apart, the leases do. */
export const commandStatus = `CASE WHEN c.status = 'PENDING' AND EXISTS (
  SELECT FROM tallyman.command_bus_held h WHERE h.id = c.id AND h.delivery = c.delivery) THEN 'IN_PROGRESS' ELSE c.status END`;

export const commandColumns = `c.domain, c.command_id AS "commandId", c.command_type AS "commandType", ${commandStatus} AS status, c.data,
  c.batch_id AS "batchId", c.correlation_id AS "correlationId", c.reply_to AS "replyTo", c.priority, c.attempts,
  c.max_attempts AS "maxAttempts", c.lost_leases AS "lostLeases", c.result, c.error_code AS "errorCode",
  c.error_message AS "errorMessage", c.error_signature AS "errorSignature", c.created_at AS "createdAt",
  CASE WHEN c.run_at > clock_timestamp() THEN c.run_at END AS "runAt", c.finished_at AS "finishedAt", c.troubleshooting_at AS "troubleshootingAt"`;

/** One command. */
export async function selectCommand(
  executor: Executor,
  domain: string,
  commandId: string,
): Promise<CommandMetadata | null> {
  const { rows } = await executor.query<CommandMetadata>(
    `SELECT ${commandColumns} FROM tallyman.command_bus_command c WHERE c.domain = $1 AND c.command_id = $2`,
    [domain, commandId],
  );
  return rows[0] ?? null;
}

/** What a command is known by. */
export interface CommandName {
  readonly domain: string;
  readonly commandId: string;
}

/** Whether there is such a command, whatever its state. */
export async function hasCommand(executor: Executor, { domain, commandId }: CommandName): Promise<boolean> {
  const { rowCount } = await executor.query(
    "SELECT FROM tallyman.command_bus_command WHERE domain = $1 AND command_id = $2",
    [domain, commandId],
  );
  return rowCount === 1;
}

/** Commands of a domain by descending id. */
export async function selectCommands(
  executor: Executor,
  domain: string,
  page: { readonly limit: number; readonly cursor: string | null },
): Promise<CommandMetadata[]> {
  const { rows } = await executor.query<CommandMetadata>(
    `SELECT ${commandColumns} FROM tallyman.command_bus_command c
     WHERE c.domain = $1 AND ($3::uuid IS NULL OR c.command_id < $3) ORDER BY c.command_id DESC LIMIT $2`,
    [domain, page.limit, page.cursor],
  );
  return rows;
}

/** Takes a command out of the queue; its row's id, or undefined when it does not wait there. */
export async function unqueueCommand(
  tx: Transaction,
  domain: string,
  commandId: string,
): Promise<number | undefined> {
  const { rows } = await tx.query<{ firstId: number; id: number }>(
    `SELECT q.first_id AS "firstId", c.id FROM tallyman.command_bus_command c
     JOIN tallyman.command_bus_queue q ON q.first_id BETWEEN c.id - ${blockSpanMax} AND c.id AND c.id = ANY (q.command_rows)
     WHERE c.domain = $1 AND c.command_id = $2 FOR UPDATE OF q`,
    [domain, commandId],
  );
  const [found] = rows;
  if (!found) return undefined;
  await tx.query(
    `WITH emptied AS (
       DELETE FROM tallyman.command_bus_queue WHERE first_id = $1 AND command_rows = ARRAY[$2::bigint])
     UPDATE tallyman.command_bus_queue SET command_rows = array_remove(command_rows, $2::bigint)
     WHERE first_id = $1 AND command_rows <> ARRAY[$2::bigint]`,
    [found.firstId, found.id],
  );
  return found.id;
}

/** A page of a batch's commands. */
export interface CommandPage {
  readonly status: CommandStatus | null;
  readonly limit: number;
  readonly offset: number;
  /** The last command of the page before. */
  readonly cursor: string | null;
}

/** Commands of a batch in the order in which they were sent. */
export async function selectBatchCommands(
  executor: Executor,
  domain: string,
  batchId: string,
  page: CommandPage,
): Promise<CommandMetadata[]> {
  const { rows } = await executor.query<CommandMetadata>(
    `SELECT ${commandColumns} FROM tallyman.command_bus_command c
     WHERE c.batch_id = $2 AND c.domain = $1 AND ($3::text IS NULL OR ${commandStatus} = $3)
       AND c.id > coalesce((SELECT l.id FROM tallyman.command_bus_command l WHERE l.domain = $1 AND l.command_id = $6), 0)
     ORDER BY c.id LIMIT $4 OFFSET $5`,
    [domain, batchId, page.status, page.limit, page.offset, page.cursor],
  );
  return rows;
}

/** Stops or restarts the handing out of a domain's commands. */
export async function setPaused(
  executor: Executor,
  domain: string,
  isPaused: boolean,
  operator: string,
): Promise<void> {
  await executor.query(
    `INSERT INTO tallyman.command_bus_domain AS d (domain, paused_at, paused_by)
     VALUES ($1, CASE WHEN $2 THEN clock_timestamp() END, CASE WHEN $2 THEN $3 END)
     ON CONFLICT (domain) DO UPDATE SET paused_at = excluded.paused_at, paused_by = excluded.paused_by
     WHERE (d.paused_at IS NULL) <> (excluded.paused_at IS NULL)`,
    [domain, isPaused, operator],
  );
}
