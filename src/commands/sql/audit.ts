import type { Executor } from "../../database/index.ts";

/** One thing that happened to a command or a batch. */
export interface AuditEvent {
  readonly auditId: number;
  readonly domain: string;
  /** Null for an event of the batch itself. */
  readonly commandId: string | null;
  readonly batchId: string | null;
  readonly eventType: string;
  readonly createdAt: Date;
  readonly details: Readonly<Record<string, unknown>> | null;
}

const auditColumns = `a.audit_id AS "auditId", a.domain, a.command_id AS "commandId", a.batch_id AS "batchId",
  a.event_type AS "eventType", a.created_at AS "createdAt", a.details`;

/** All events of one command, in their order. */
export async function selectHistory(
  executor: Executor,
  domain: string,
  commandId: string,
): Promise<AuditEvent[]> {
  const { rows } = await executor.query<AuditEvent>(
    `SELECT ${auditColumns} FROM tallyman.command_bus_audit a, (
       SELECT c.id FROM tallyman.command_bus_command c WHERE c.domain = $1 AND c.command_id = $2) c
     WHERE int8range(a.first_row, a.last_row, '[]') @> c.id AND a.command_row = c.id ORDER BY a.audit_id`,
    [domain, commandId],
  );
  return rows;
}

/** The batch's own events, in their order. */
export async function selectBatchHistory(
  executor: Executor,
  domain: string,
  batchId: string,
): Promise<AuditEvent[]> {
  const { rows } = await executor.query<AuditEvent>(
    `SELECT ${auditColumns} FROM tallyman.command_bus_audit a
     WHERE a.batch_id = $2 AND a.first_row IS NULL AND a.domain = $1 ORDER BY a.audit_id`,
    [domain, batchId],
  );
  return rows;
}

/** A page of everything, newest first. Each group has at least one event, so that no more of them are read than wanted. */
export async function selectAudit(
  executor: Executor,
  page: {
    readonly domain: string | null;
    readonly eventType: string | null;
    readonly limit: number;
    readonly before: number | null;
  },
): Promise<AuditEvent[]> {
  const { rows } = await executor.query<AuditEvent>(
    `SELECT ${auditColumns} FROM tallyman.command_bus_audit a
     WHERE ($1::text IS NULL OR a.domain = $1) AND ($2::text IS NULL OR a.event_type = $2)
       AND ($4::bigint IS NULL OR (a.group_id <= $4::bigint / 1048576 AND a.audit_id < $4))
     ORDER BY a.group_id DESC, a.position DESC LIMIT $3`,
    [page.domain, page.eventType, page.limit, page.before],
  );
  return rows;
}
