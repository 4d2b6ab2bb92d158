import { counter, gauge, latency, type MetricRow } from "./metric-row.ts";
import { systemMetricRows } from "./system-metric-rows.ts";

const claim = { stem: "claim_latency", what: "claim a batch" } as const;

const rows = {
  claim_attempts: counter("claim_attempts", "Claims tried, won or not."),
  claim_successes: counter("claim_successes", "Claims won."),
  claim_conflicts: counter("claim_conflicts", "Claims lost to another instance."),
  claim_success_rate: gauge("claim_success_ratio", "Claims won, as a share of claims tried."),
  claims_per_sec: gauge("claims_per_second", "Claims tried per second in the sliding window."),
  claims_window_total: gauge("claims_in_window", "Claims tried in the sliding window."),
  coordination_errors: counter("coordination_errors", "Coordination operations that failed."),

  batches_claimed: counter("batches_claimed", "Batches that this indexer claimed."),
  batches_completed: counter("batches_completed", "Batches marked completed."),
  batches_failed: counter("batches_failed", "Batches marked failed."),
  batches_processed: counter("batches_processed", "Batches that this indexer worked through."),
  batches_dead_lettered: counter("batches_dead_lettered", "Batches given up and moved to the dead letters."),
  claims_lost: counter("claims_lost", "Files whose claim was lost before they were done."),
  files_recovered: counter("files_recovered", "Files that came without an announcement."),
  metadata_indexed: counter("metadata_indexed", "Metadata records written."),
  claimed_batches_pending: gauge("claimed_batches_pending", "Batches claimed and not yet completed."),
  current_buffer_size: gauge("buffered_ticks", "Ticks waiting in the buffer for a flush."),
  runs_processed: counter("runs_processed", "Simulation runs worked through."),
  ticks_observed: counter("ticks_observed", "Ticks read from batch files."),
  ticks_processed: counter("ticks_processed", "Ticks flushed."),
  cells_observed: counter("cells_observed", "Cells seen in ticks."),
  organisms_observed: counter("organisms_observed", "Organisms seen in ticks."),

  gaps_pending: gauge("gaps_pending", "Gaps that are searched for."),
  gaps_released: counter("gaps_released", "Gaps in which a batch was found."),
  permanent_gaps_detected: counter("permanent_gaps_detected", "Gaps given up as lost."),

  metadata_reads: counter("metadata_reads", "Metadata records read."),
  metadata_not_found: counter("metadata_not_found", "Reads of metadata that was not there."),

  notifications_sent: counter("notifications_sent", "Batch files announced on the topic."),
  notifications_failed: counter(
    "notifications_failed",
    "Announcements of files that failed and are tried again.",
  ),
  notifications_pending: gauge("notifications_pending", "Files that are written and wait to be announced."),
  metadata_written: counter("metadata_written", "Runs whose metadata was written."),
  ticks_written: counter("ticks_written", "Ticks in the batch files written."),
  ticks_dead_lettered: counter("ticks_dead_lettered", "Ticks sent to the dead-letter topic."),
  ticks_dropped: counter("ticks_dropped", "Bad ticks dropped for want of a dead-letter topic."),
  duplicate_ticks: counter("duplicate_ticks", "Ticks skipped because their number was handed out before."),
  queue_records: gauge("queue_records", "Records that wait in a queue or are being written."),
  queue_bytes: gauge("queue_bytes", "Memory of these records, estimated."),
  queue_blocked_offers: counter("queue_blocked_offers", "Offers that had to wait for room in a queue."),
  ticks_simulated: counter("ticks_simulated", "Ticks that the engine computed."),
  ticks_sampled: counter("ticks_sampled", "Ticks that the engine handed over."),
  ticks_per_sec: gauge("ticks_per_second", "Ticks computed per second in the sliding window."),
  current_tick: gauge("current_tick", "The tick that the engine has reached."),
  organisms_alive: gauge("organisms_alive", "Organisms that live in the simulated world."),

  messages_sent: counter("topic_messages_sent", "Messages stored in a topic."),
  messages_sent_per_sec: gauge(
    "topic_messages_sent_per_second",
    "Messages stored per second in the sliding window.",
  ),
  duplicate_sends: counter("topic_duplicate_sends", "Messages not stored because their key was there."),
  send_errors: counter("topic_send_errors", "Calls of send that failed."),
  messages_received: counter("topic_messages_received", "Messages handed out to this reader."),
  messages_received_per_sec: gauge(
    "topic_messages_received_per_second",
    "Messages handed out per second in the sliding window.",
  ),
  messages_redelivered: counter("topic_messages_redelivered", "Messages handed out not for the first time."),
  messages_acknowledged: counter("topic_messages_acknowledged", "Messages acknowledged."),
  messages_handed_back: counter("topic_messages_handed_back", "Messages handed back for another try."),
  messages_dead_lettered: counter("topic_messages_dead_lettered", "Messages moved to the dead-letter topic."),
  stale_messages: counter("topic_stale_messages", "Messages settled too late and refused."),
  empty_polls: counter("topic_empty_polls", "Polls that ended without a message."),
  claim_errors: counter("topic_claim_errors", "Claims of messages that failed."),
  ack_errors: counter("topic_ack_errors", "Acknowledgements that failed."),

  queries_executed: counter("queries_executed", "Statements sent to the database."),
  queries_per_sec: gauge("queries_per_second", "Statements per second in the sliding window."),
  writes_per_sec: gauge("writes_per_second", "Writing statements per second in the sliding window."),
  rows_inserted: counter("rows_inserted", "Rows written to the database."),
  read_errors: counter("read_errors", "Reads that failed."),
  write_errors: counter("write_errors", "Writes that failed."),
  connection_cached: gauge("connection_cached", "1 while a wrapper holds a connection, else 0."),
  pool_active_connections: gauge("pool_active_connections", "Pool connections in use."),
  pool_idle_connections: gauge("pool_idle_connections", "Pool connections open and free."),
  pool_total_connections: gauge("pool_total_connections", "Pool connections open."),
  cache_hits: counter("cache_hits", "Look-ups answered by the resource's cache."),
  cache_misses: counter("cache_misses", "Look-ups that the resource's cache could not answer."),
  cache_hit_ratio: gauge("cache_hit_ratio", "Look-ups answered by the cache, as a share of all."),

  commands_received: counter("commands_received", "Commands that this worker claimed."),
  commands_completed: counter("commands_completed", "Commands that ended as COMPLETED."),
  commands_failed: counter("commands_failed", "Commands that ended as FAILED."),
  commands_retried: counter("commands_retried", "Commands that were scheduled for another attempt."),
  commands_troubleshooting: counter(
    "commands_troubleshooting",
    "Commands that were moved to the troubleshooting queue.",
  ),
  commands_released: counter("commands_released", "Commands given back without having been begun."),
  commands_stale: counter(
    "commands_stale",
    "Outcomes refused because the command was no longer this worker's.",
  ),
  commands_held: gauge("commands_held", "Commands that this worker holds, running or waiting."),
  commands_unsettled: gauge("commands_unsettled", "Outcomes that wait for their commit."),
  batches_written: counter(
    "batch_files_written",
    "Batch files written, or found written with the same records.",
  ),
  batches_read: counter("batch_files_read", "Batch files opened and verified."),
  bytes_written: counter("storage_bytes_written", "Stored bytes of the batch files written."),
  bytes_read: counter("storage_bytes_read", "Stored bytes of the batch files read."),
  files_listed: counter("batch_files_listed", "Batch files returned by listings."),
  corrupt_files: counter("corrupt_files", "Reads that met a damaged file."),

  service_running: gauge("service_running", "1 while the service is RUNNING."),
  service_restarts: counter("service_restarts", "Restarts of the service by its restart policy."),
  is_leader: gauge("scheduler_is_leader", "1 while this coordinator leads, else 0."),
  leader_epoch: gauge("scheduler_leader_epoch", "The latest term that this coordinator led in."),
  elections_won: counter("scheduler_elections_won", "Elections that this coordinator won."),
  segments_assigned: counter("scheduler_segments_assigned", "Segments that this leader gave to workers."),
  segments_revoked: counter("scheduler_segments_revoked", "Segments that this leader asked back."),
  segments_taken_back: counter(
    "scheduler_segments_taken_back",
    "Segments that this leader took from silent workers, or that were not given back in time.",
  ),

  error_count: gauge("recent_errors", "Entries in the component's bounded error list."),

  ...latency({ base: "try_claim_latency", ...claim }),
  ...latency({ base: "try_claim_latency", unit: "ns", ...claim }),
  ...latency({ base: "mark_completed_latency", stem: "mark_completed_latency", what: "complete a batch" }),
  ...latency({ base: "mark_failed_latency", stem: "mark_failed_latency", what: "mark a batch failed" }),
  ...latency({ base: "mark_gap_pending_latency", stem: "mark_gap_pending_latency", what: "record a gap" }),
  ...latency({ base: "has_gap_before_latency", stem: "has_gap_before_latency", what: "look for a gap" }),
  ...latency({
    base: "release_gap_pending_latency",
    stem: "release_gap_pending_latency",
    what: "release a gap",
  }),
  jobs_fired: counter("jobs_fired", "Fires of jobs that put a command or batch on the bus."),
  jobs_missed: counter("jobs_missed", "Ranges of times at which jobs did not fire, recorded as missed."),
  jobs_overlapped: counter("jobs_overlapped", "Fires left out because the one before had not ended."),
  jobs_parked: counter("jobs_parked", "Jobs parked because their fire failed."),
  fires_stale: counter("fires_stale", "Fires refused: the job or its segment had changed meanwhile."),
  segments_held: gauge("segments_held", "Segments that a scheduler worker works on."),
  ...latency({ base: "fire_lag", stem: "fire_lag", what: "fire a job after its time had come" }),
  ...latency({ base: "handler_latency", stem: "handler_latency", what: "run a command's handler" }),
  ...latency({ base: "write_batch_latency", stem: "write_batch_latency", what: "write a batch file" }),
  ...latency({
    base: "read_batch_latency",
    stem: "read_batch_latency",
    what: "open a batch file and verify it",
  }),
  ...latency({
    base: "list_batch_files_latency",
    stem: "list_batch_files_latency",
    what: "list batch files or runs",
  }),
  ...latency({ base: "send_latency", stem: "topic_send_latency", what: "send messages" }),
  ...latency({ base: "claim_messages_latency", stem: "topic_claim_latency", what: "claim messages" }),
  ...latency({ base: "ack_latency", stem: "topic_ack_latency", what: "acknowledge messages" }),
  ...latency({ base: "get_metadata_latency", stem: "get_metadata_latency", what: "read metadata" }),
  ...latency({ base: "has_metadata_latency", stem: "has_metadata_latency", what: "look for metadata" }),
  ...systemMetricRows,
} satisfies Record<string, MetricRow>;

/**
 * Further names for the same quantities. The `h2_` names come from a database that Tallyman does not use:
 * its connections are those of our pool, its cache is a resource's own, and its disk writes, which a client
 * of PostgreSQL can't see, are the writing statements.
 */
const aliases = {
  claim_attempts_total: "claim_attempts",
  claim_latency_p50_ms: "try_claim_latency_p50_ms",
  claim_latency_p95_ms: "try_claim_latency_p95_ms",
  claim_latency_p99_ms: "try_claim_latency_p99_ms",
  complete_latency_p95_ms: "mark_completed_latency_p95_ms",
  h2_active_connections: "pool_active_connections",
  h2_pool_active_connections: "pool_active_connections",
  h2_idle_connections: "pool_idle_connections",
  h2_pool_total_connections: "pool_total_connections",
  h2_cache_hits: "cache_hits",
  h2_cache_misses: "cache_misses",
  h2_cache_hit_ratio: "cache_hit_ratio",
  h2_queries_per_sec: "queries_per_sec",
  h2_disk_writes_per_sec: "writes_per_sec",
} as const satisfies Record<string, keyof typeof rows>;

/** What every component has, without reporting it itself. */
export const healthyRow: MetricRow = gauge("healthy", "1 when the component can do its work, else 0.");

/**
 * Every known name of `getMetrics()` and how it appears in Prometheus. Aliases share a row, so a component
 * may report either spelling, or both: they are one series.
 */
export const metricNames: ReadonlyMap<string, MetricRow> = new Map<string, MetricRow>([
  ...Object.entries(rows),
  ...Object.entries(aliases).map(([alias, name]): [string, MetricRow] => [alias, rows[name]]),
]);

/**
 * The row of a name. A name outside the table (a user's own indexer counts something of its own) becomes a
 * gauge under `tallyman_custom_`, where it can't collide with a name of the table.
 */
export function metricRow(name: string): MetricRow {
  return metricNames.get(name) ?? customRow(name);
}

function customRow(name: string): MetricRow {
  const safe = name.toLowerCase().replaceAll(/[^a-z0-9_]/g, "_");
  return gauge(`custom_${safe}`, "Reported by a component under a name of its own, in a unit of its own.");
}
