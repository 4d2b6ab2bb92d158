import type { readOverview } from "../api/index.ts";
import type { BusStats } from "../commands/index.ts";

/** The whole system in figures. */
export type SystemOverview = Awaited<ReturnType<typeof readOverview>>;

/** The figures under the names that metrics have. */
export function systemMetrics(
  { commands, batches, pipeline, scheduler }: SystemOverview,
  { oldestReadyMs }: Pick<BusStats, "oldestReadyMs">,
): Record<string, number> {
  return {
    commands_ready: commands.ready,
    commands_waiting: commands.waiting,
    commands_in_progress: commands.inProgress,
    commands_in_troubleshooting: commands.inTroubleshooting,
    commands_completed_per_sec: commands.completedPerSecond,
    commands_failed_per_sec: commands.failedPerSecond,
    oldest_ready_command_ms: oldestReadyMs ?? 0,
    domains_paused: commands.pausedDomains.length,
    batches_running: batches.running,
    batches_blocked: batches.blocked,
    services_failed: pipeline.servicesFailed,
    topic_lag: pipeline.lag,
    dead_letters: pipeline.deadLetters,
    run_gaps_pending: pipeline.gapsPending,
    run_gaps_permanent: pipeline.gapsPermanent,
    has_leader: scheduler.leader === null ? 0 : 1,
    scheduler_workers_online: scheduler.workersOnline,
    scheduler_workers_unhealthy: scheduler.workersUnhealthy,
    segments_unowned: scheduler.segmentCount - scheduler.segmentsOwned,
    parked_jobs: scheduler.jobsParked,
    fire_overdue_ms: scheduler.overdueMs ?? 0,
  };
}
