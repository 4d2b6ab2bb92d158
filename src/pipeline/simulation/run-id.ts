import { randomUUID } from "node:crypto";

const runIdPattern = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(\d{3})?-/;

/**
 * A new run's id: `<yyyyMMddHHmmssSSS>-<uuid>`, in UTC. Ids in order are runs in the order of their starts.
 *
 * @example
 * ```ts
 * newRunId(); // "20251006143025417-550e8400-e29b-41d4-a716-446655440000"
 * ```
 */
export function newRunId(startedAtMs: number = Date.now(), uuid: string = randomUUID()): string {
  const digits = new Date(startedAtMs).toISOString().replaceAll(/\D/g, "");
  return `${digits}-${uuid}`;
}

/**
 * When a run began, as its id says, with or without milliseconds; undefined for ids of another form.
 *
 * @example
 * ```ts
 * runStartOf("20251006143025-550e8400-e29b-41d4-a716-446655440000"); // 2025-10-06T14:30:25.000Z
 * ```
 */
export function runStartOf(runId: string): Date | undefined {
  const [, year, month, day, hour, minute, second, millis = "000"] = runIdPattern.exec(runId) ?? [];
  if (year === undefined) return undefined;
  const start = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${millis}Z`);
  return Number.isNaN(start.getTime()) ? undefined : start;
}
