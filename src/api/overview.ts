import { ServiceControl, type Tallyman } from "../app/index.ts";
import { countGaps, type GapCounts } from "../coordination/index.ts";
import { newestRuns } from "../database/index.ts";
import type { LeaderInfo } from "../scheduler/index.ts";
import { countDeadLetters } from "../topics/index.ts";

/** Runs whose gaps are counted: each costs a statement. */
const watchedRuns = 3;
/** More of one kind are not counted. */
const countedMax = 10_000;

/** Something that a person should look at, the most urgent first. */
export interface Attention {
  readonly severity: "error" | "warning";
  readonly text: string;
  /** The dashboard's screen about it. */
  readonly link: string;
}

/** The whole system in figures, and what in them needs a person. */
export async function readOverview(tallyman: Tallyman) {
  const [figures, gaps] = await Promise.all([readFigures(tallyman), gapsOf(tallyman)]);
  const counts = { gapsPending: gapTotal(gaps, "pending"), gapsPermanent: gapTotal(gaps, "permanent") };
  return {
    ...figures,
    pipeline: { ...figures.pipeline, ...counts },
    attention: attentionTo(figures, gaps),
  };
}

async function readFigures(tallyman: Tallyman) {
  const [domains, batches, groups, deadLetters, managers, leader, fleet, jobs] = await Promise.all([
    tallyman.commands.domains(),
    tallyman.commands.countBatches(),
    tallyman.topics.listGroups(),
    countDeadLetters(tallyman.database, countedMax),
    new ServiceControl(tallyman.database).list(),
    tallyman.scheduler.coordinators.findLeader(),
    tallyman.scheduler.fleet.counts(),
    tallyman.scheduler.jobs.health(),
  ]);
  const total = (pick: (domain: (typeof domains)[number]) => number) =>
    domains.reduce((sum, domain) => sum + pick(domain), 0);
  const services = managers.flatMap(({ services: each, isLost }) =>
    each.map((service) => ({ ...service, isLost })),
  );
  return {
    commands: {
      ready: total(({ ready }) => ready),
      waiting: total(({ waiting }) => waiting),
      inProgress: total(({ inProgress }) => inProgress),
      inTroubleshooting: total(({ inTroubleshooting }) => inTroubleshooting),
      completedPerSecond: total(({ completedPerSecond }) => completedPerSecond),
      failedPerSecond: total(({ failedPerSecond }) => failedPerSecond),
      pausedDomains: domains.filter(({ isPaused }) => isPaused).map(({ domain }) => domain),
    },
    batches,
    pipeline: {
      servicesRunning: services.filter(({ state, isLost }) => state === "RUNNING" && !isLost).length,
      servicesFailed: services.filter(({ state, isLost }) => state === "ERROR" || isLost).length,
      lag: groups.reduce((sum, { messages }) => sum + messages, 0),
      deadLetters,
    },
    scheduler: {
      leader: leader ? toLeader(leader) : null,
      ...fleet,
      jobsParked: jobs.parked,
      overdueMs: jobs.overdueMs,
    },
  };
}

type Figures = Awaited<ReturnType<typeof readFigures>>;

interface RunGaps extends GapCounts {
  readonly runId: string;
}

/** The gaps of the newest runs. */
async function gapsOf({ database }: Tallyman): Promise<RunGaps[]> {
  const runs = await newestRuns(database, { limit: watchedRuns });
  return Promise.all(
    runs.map(async ({ runId, schemaName }) => ({
      runId,
      ...(await countGaps(database.forRun(schemaName), countedMax)),
    })),
  );
}

function gapTotal(gaps: readonly RunGaps[], kind: keyof GapCounts): number {
  return gaps.reduce((sum, counts) => sum + counts[kind], 0);
}

/** Of several runs with permanent gaps, the newest. */
function gapLink(gaps: readonly RunGaps[]): string {
  const found = gaps.find(({ permanent }) => permanent > 0);
  return found ? `/pipeline?run=${encodeURIComponent(found.runId)}` : "/pipeline";
}

function toLeader({ coordinatorId, epoch, electedAt }: LeaderInfo) {
  return { coordinatorId, epoch, electedAt };
}

/** Fires that are later than this are a matter for a person. */
const overdueMsMax = 60_000;

function attentionTo(
  { commands, batches, pipeline, scheduler }: Figures,
  gaps: readonly RunGaps[],
): Attention[] {
  const { leader, workersOnline, workersUnhealthy, segmentsOwned, segmentCount, jobsParked, overdueMs } =
    scheduler;
  const permanent = gapTotal(gaps, "permanent");
  const checks: [boolean, Attention["severity"], string, string][] = [
    [
      pipeline.servicesFailed > 0,
      "error",
      `${count(pipeline.servicesFailed, "service")} failed or lost`,
      "/pipeline",
    ],
    [permanent > 0, "error", `${count(permanent, "permanent gap")} in the newest runs`, gapLink(gaps)],
    [leader === null && workersOnline > 0, "error", "No coordinator leads", "/fleet"],
    [
      workersOnline > 0 && segmentsOwned < segmentCount,
      "error",
      `${count(segmentCount - segmentsOwned, "segment")} without an owner`,
      "/fleet",
    ],
    [
      commands.inTroubleshooting > 0,
      "warning",
      `${count(commands.inTroubleshooting, "command")} in troubleshooting`,
      "/troubleshooting",
    ],
    [
      batches.blocked > 0,
      "warning",
      `${count(batches.blocked, "batch", "batches")} blocked by troubleshooting`,
      "/batches",
    ],
    [pipeline.deadLetters > 0, "warning", count(pipeline.deadLetters, "dead letter"), "/pipeline"],
    [workersUnhealthy > 0, "warning", `${count(workersUnhealthy, "scheduler worker")} unhealthy`, "/fleet"],
    [
      jobsParked > 0,
      "warning",
      `${count(jobsParked, "job")} parked after a failed fire`,
      "/fleet?status=PARKED",
    ],
    [(overdueMs ?? 0) > overdueMsMax, "warning", "Jobs are fired late", "/fleet"],
    [
      commands.pausedDomains.length > 0,
      "warning",
      `Paused: ${commands.pausedDomains.join(", ")}`,
      "/#domains",
    ],
  ];
  return checks.filter(([holds]) => holds).map(([, severity, text, link]) => ({ severity, text, link }));
}

function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}
