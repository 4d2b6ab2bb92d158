import { gauge, type MetricRow } from "./metric-row.ts";

/**
 * What every HTTP server tells about the whole system, as its database has it. Any number of servers tell the same:
 * take the greatest, not the sum.
 */
export const systemMetricRows = {
  commands_ready: gauge("commands_ready", "Commands that a worker could take now."),
  commands_waiting: gauge("commands_waiting", "Commands whose time has not come."),
  commands_in_progress: gauge("commands_in_progress", "Commands that workers hold."),
  commands_in_troubleshooting: gauge(
    "commands_in_troubleshooting",
    "Commands that wait in the troubleshooting queue for a person.",
  ),
  commands_completed_per_sec: gauge(
    "commands_completed_per_second",
    "Commands completed per second, over the last minute.",
  ),
  commands_failed_per_sec: gauge(
    "commands_failed_per_second",
    "Attempts that failed per second, over the last minute.",
  ),
  oldest_ready_command_ms: {
    ...gauge("oldest_ready_command_seconds", "Age of the oldest command that is ready; 0 when none is."),
    scale: 1e-3,
  },
  domains_paused: gauge("domains_paused", "Domains that are paused."),
  batches_running: gauge("batches_running", "Batches of commands that have not ended."),
  batches_blocked: gauge(
    "batches_blocked",
    "Batches that can't end by themselves: they have commands in troubleshooting.",
  ),
  services_failed: gauge("services_failed", "Services in state ERROR, or of a process that is gone."),
  topic_lag: gauge("topic_lag_messages", "Messages that consumer groups have not acknowledged."),
  dead_letters: gauge("dead_letters", "Dead letters that wait for a re-drive."),
  run_gaps_pending: gauge("run_gaps_pending", "Gaps in the newest runs that are searched for."),
  run_gaps_permanent: gauge("run_gaps_permanent", "Gaps in the newest runs that were given up as lost."),
  has_leader: gauge("scheduler_has_leader", "1 while a coordinator leads, else 0."),
  scheduler_workers_online: gauge("scheduler_workers_online", "Scheduler workers that are ONLINE."),
  scheduler_workers_unhealthy: gauge("scheduler_workers_unhealthy", "Scheduler workers that are UNHEALTHY."),
  segments_unowned: gauge("scheduler_segments_unowned", "Segments that no scheduler worker owns."),
  parked_jobs: gauge("parked_jobs", "Jobs whose fire failed and that wait for a person."),
  fire_overdue_ms: {
    ...gauge("fire_overdue_seconds", "How late the most overdue job is; 0 when none is."),
    scale: 1e-3,
  },
} satisfies Record<string, MetricRow>;
