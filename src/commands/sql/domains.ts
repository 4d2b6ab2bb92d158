import type { Executor } from "../../database/index.ts";

/** What a domain has to do, and how fast it does it. */
export interface DomainStats {
  readonly domain: string;
  readonly isPaused: boolean;
  /** Commands that a worker could take now. */
  readonly ready: number;
  /** Commands whose time has not come. */
  readonly waiting: number;
  readonly inProgress: number;
  readonly inTroubleshooting: number;
  /** Per second, over the last minute. */
  readonly completedPerSecond: number;
  /** Per second, over the last minute; retries and moves to the troubleshooting queue. */
  readonly failedPerSecond: number;
}

/** Groups of the audit that are looked at for the rates; a busy bus writes more in a minute, and a part will do. */
const recentGroupsMax = 500;

/** Read from the queue, the leases and the end of the audit: history costs nothing. */
export async function selectDomains(executor: Executor): Promise<DomainStats[]> {
  const { rows } = await executor.query<DomainStats>(
    `WITH queued AS (
       SELECT domain, sum(cardinality(command_rows)) FILTER (WHERE run_at IS NULL OR run_at <= clock_timestamp()) AS ready,
              sum(cardinality(command_rows)) FILTER (WHERE run_at > clock_timestamp()) AS waiting
       FROM tallyman.command_bus_queue GROUP BY domain
     ), held AS (
       SELECT domain, sum(cardinality(command_rows)) AS in_progress FROM tallyman.command_bus_lease GROUP BY domain
     ), troubled AS (
       SELECT domain, count(*) AS in_troubleshooting FROM tallyman.command_bus_command
       WHERE troubleshooting_at IS NOT NULL GROUP BY domain
     ), recent AS (
       SELECT g.* FROM (
         SELECT domain, event_type, created_at, command_count AS size
         FROM tallyman.command_bus_audit_group ORDER BY group_id DESC LIMIT ${recentGroupsMax}) g
       WHERE g.created_at > clock_timestamp() - interval '1 min'
     ), span AS (
       SELECT CASE WHEN count(*) < ${recentGroupsMax} THEN 60
              ELSE greatest(extract(epoch FROM clock_timestamp() - min(created_at)), 1) END AS seconds FROM recent
     ), rates AS (
       SELECT domain, sum(size) FILTER (WHERE event_type = 'COMPLETED') / min(seconds) AS completed,
              sum(size) FILTER (WHERE event_type IN ('RETRY_SCHEDULED', 'MOVED_TO_TSQ', 'FAILED')) / min(seconds) AS failed
       FROM recent, span GROUP BY domain
     ), names AS (
       SELECT domain FROM queued UNION SELECT domain FROM held UNION SELECT domain FROM troubled
       UNION SELECT domain FROM rates UNION SELECT domain FROM tallyman.command_bus_domain
     )
     SELECT n.domain::text, coalesce(d.paused_at IS NOT NULL, false) AS "isPaused", coalesce(q.ready, 0)::integer AS ready,
            coalesce(q.waiting, 0)::integer AS waiting, coalesce(h.in_progress, 0)::integer AS "inProgress",
            coalesce(t.in_troubleshooting, 0)::integer AS "inTroubleshooting",
            round(coalesce(r.completed, 0), 2)::double precision AS "completedPerSecond",
            round(coalesce(r.failed, 0), 2)::double precision AS "failedPerSecond"
     FROM names n LEFT JOIN queued q USING (domain) LEFT JOIN held h USING (domain) LEFT JOIN troubled t USING (domain)
     LEFT JOIN rates r USING (domain) LEFT JOIN tallyman.command_bus_domain d USING (domain) ORDER BY 1`,
  );
  return rows;
}
