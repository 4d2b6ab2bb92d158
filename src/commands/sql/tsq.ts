import type { Executor, Transaction } from "../../database/index.ts";
import type { CommandMetadata, CommandStatus } from "../command.ts";
import { commandColumns, commandStatus } from "./command.ts";

/** Which commands of the troubleshooting queue. */
export interface TsqFilterRow {
  readonly domain: string | null;
  readonly commandType: string | null;
  readonly errorSignature: string | null;
  readonly batchId: string | null;
}

/** A command of the queue, for the page that follows it: ids are unique within a domain only. */
export interface TsqCursor {
  readonly domain: string;
  readonly commandId: string;
}

/** Commands of one domain, type and kind of error. */
export interface TsqGroup {
  readonly domain: string;
  readonly commandType: string;
  readonly errorSignature: string;
  readonly count: number;
  /** Since when the oldest of them waits. */
  readonly oldest: Date;
  /** The error of one of them. */
  readonly example: string;
}

const matches = `c.troubleshooting_at IS NOT NULL AND ($1::text IS NULL OR c.domain = $1)
  AND ($2::text IS NULL OR c.command_type = $2) AND ($3::text IS NULL OR c.error_signature = $3)
  AND ($4::uuid IS NULL OR c.batch_id = $4)`;

function values({ domain, commandType, errorSignature, batchId }: TsqFilterRow): (string | null)[] {
  return [domain, commandType, errorSignature, batchId];
}

/** A page of matching commands, oldest first. */
export async function selectTroubled(
  executor: Executor,
  filter: TsqFilterRow,
  { limit, cursor }: { readonly limit: number; readonly cursor: TsqCursor | undefined },
): Promise<CommandMetadata[]> {
  const { rows } = await executor.query<CommandMetadata>(
    `SELECT ${commandColumns} FROM tallyman.command_bus_command c
     WHERE ${matches} AND c.id > coalesce((SELECT l.id FROM tallyman.command_bus_command l
       WHERE l.domain = $6 AND l.command_id = $7), 0)
     ORDER BY c.id LIMIT $5`,
    [...values(filter), limit, cursor?.domain ?? null, cursor?.commandId ?? null],
  );
  return rows;
}

/** How many commands match. */
export async function countTroubled(executor: Executor, filter: TsqFilterRow): Promise<number> {
  const { rows } = await executor.query<{ n: number | string }>(
    `SELECT count(*) AS n FROM tallyman.command_bus_command c WHERE ${matches}`,
    values(filter),
  );
  return Number(rows[0]?.n ?? 0);
}

/** Matching commands by domain, type and kind of error, the largest group first. */
export async function groupTroubled(executor: Executor, filter: TsqFilterRow): Promise<TsqGroup[]> {
  const { rows } = await executor.query<TsqGroup>(
    `SELECT c.domain, c.command_type AS "commandType", coalesce(c.error_signature, '') AS "errorSignature",
            count(*)::integer AS count, min(c.troubleshooting_at) AS oldest, coalesce(min(c.error_message), '') AS example
     FROM tallyman.command_bus_command c WHERE ${matches}
     GROUP BY c.domain, c.command_type, c.error_signature ORDER BY count(*) DESC, 1, 2, 3`,
    values(filter),
  );
  return rows;
}

/** A command locked for an operator's action. */
export interface LockedRow {
  readonly id: number;
  readonly commandId: string;
  readonly domain: string;
  readonly status: CommandStatus;
  readonly replyTo: string | null;
}

const lockedColumns = `c.id, c.command_id AS "commandId", c.domain, ${commandStatus} AS status, c.reply_to AS "replyTo"`;

/** Locks matching commands in the order of their ids, after `after` and no more than `limit`. */
export async function lockTroubled(
  tx: Transaction,
  filter: TsqFilterRow,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<LockedRow[]> {
  const { rows } = await tx.query<LockedRow>(
    `SELECT ${lockedColumns} FROM tallyman.command_bus_command c
     WHERE ${matches} AND c.id > $5 ORDER BY c.id LIMIT $6 FOR UPDATE OF c`,
    [...values(filter), after, limit],
  );
  return rows;
}

/** Locks commands by id, whatever their state. */
export async function lockCommands(
  tx: Transaction,
  domain: string,
  commandIds: readonly string[],
): Promise<LockedRow[]> {
  const { rows } = await tx.query<LockedRow>(
    `SELECT ${lockedColumns} FROM tallyman.command_bus_command c
     WHERE c.domain = $1 AND c.command_id = ANY ($2::uuid[]) ORDER BY c.id FOR UPDATE OF c`,
    [domain, commandIds],
  );
  return rows;
}
