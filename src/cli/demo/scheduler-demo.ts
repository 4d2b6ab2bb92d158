import type { Config, Tallyman } from "../../app/index.ts";
import { TallymanError } from "../../errors/index.ts";
import type { Scheduler } from "../../scheduler/index.ts";
import type { DemoPart } from "./demo-part.ts";
import { DemoProcesses } from "./demo-processes.ts";
import { until } from "./until.ts";

const coordinators = ["demo-coordinator-1", "demo-coordinator-2"];
const workers = ["demo-scheduler-1", "demo-scheduler-2", "demo-scheduler-3"];
/** A demo's leader is missed sooner than one in production. */
const leaderLeaseMs = 1_500;
const jobCount = 40;
const firesEach = 15;
const everyMs = 200;
const firesExpected = jobCount * firesEach;

/** Two coordinators and three scheduler workers; the leader is killed, and no fire is lost or doubled. */
export async function schedulerDemo(
  tallyman: Tallyman,
  say: (text: string) => void,
  config: Config,
): Promise<DemoPart> {
  const { scheduler } = tallyman;
  say("Starting two coordinators and three scheduler workers, each a process …");
  await using processes = await DemoProcesses.open(tallyman, config, {
    scheduler: { coordinator: { leaderLease: leaderLeaseMs } },
  });
  for (const id of coordinators) startCoordinator(processes, id);
  for (const id of workers) startWorker(processes, id);
  await until("all segments to have an owner", () => isShared(scheduler));
  await using fires = await countFires(tallyman);
  const keys = await addJobs(scheduler, fires.domain);
  say(`Added ${jobCount} jobs that fire ${firesEach} times each, every ${everyMs} ms. Killing the leader …`);
  const { leader, leaderEpoch, failoverMs, isBack } = await killLeader(scheduler, processes);
  say(`${leader} leads in term ${leaderEpoch}, ${failoverMs} ms later.`);
  await until("all jobs to have fired", async () => fires.handled >= firesExpected);
  await until("the killed coordinator to stand by again", isBack);
  // On a slow machine a worker may have been taken for dead meanwhile.
  await until("all segments to have an owner again", () => isShared(scheduler));
  const { segmentsOwned, total, spread } = await ownership(scheduler);
  await processes.stop();
  for (const key of keys) await scheduler.jobs.remove(key);
  const { handled: firesDone, distinct } = fires;
  return {
    success:
      firesDone === firesExpected && distinct === firesExpected && segmentsOwned === total && spread <= 1,
    data: { leaderEpoch, failoverMs, segmentsOwned, spread, firesExpected, firesDone },
    text: `Scheduler: ${firesDone} of ${firesExpected} fires, none twice, though the leader was killed (${failoverMs} ms without one); ${segmentsOwned} of ${total} segments owned, spread ${spread}.`,
  };
}

function startCoordinator(processes: DemoProcesses, id: string): void {
  processes.start(id, ["coordinator", "--port", "0", "--id", id]);
}

function startWorker(processes: DemoProcesses, id: string): void {
  processes.start(id, [
    "scheduler-worker",
    "--id",
    id,
    "--heartbeat-interval",
    "200ms",
    "--heartbeat-timeout",
    "2s",
  ]);
}

/** Handles what the jobs fire, and counts it: in all, and the different pairs of job and time. */
async function countFires({ commands }: Tallyman) {
  const domain = `demo-jobs-${Date.now().toString(36)}`;
  const seen = new Set<string>();
  let handled = 0;
  const worker = commands.worker({
    domain,
    handlers: {
      Tick: ({ data }) => {
        handled++;
        seen.add(JSON.stringify((data as { fire: unknown }).fire));
      },
    },
  });
  await worker.start();
  return {
    domain,
    get handled() {
      return handled;
    },
    get distinct() {
      return seen.size;
    },
    [Symbol.asyncDispose]: () => worker.stop(),
  };
}

async function addJobs({ jobs }: Scheduler, domain: string): Promise<string[]> {
  const list = Array.from({ length: jobCount }, (_, n) => ({
    key: `${domain}-${n}`,
    schedule: { everyMs },
    maxFires: firesEach,
    misfirePolicy: "FIRE_ALL" as const,
    fireField: "fire",
    command: { domain, commandType: "Tick" },
  }));
  await jobs.createMany(list);
  return list.map(({ key }) => key);
}

/** Kills the process that leads, and starts it again as whoever looks after it would; returns when another leads. */
async function killLeader({ coordinators: register }: Scheduler, processes: DemoProcesses) {
  // On a slow machine a short lease runs out now and then.
  await until("a leader", async () => (await register.findLeader()) !== undefined);
  const { coordinatorId, epoch } = await register.leader();
  const { lastHeartbeatTime } = await register.coordinator(coordinatorId);
  const killedMs = performance.now();
  if (!(await processes.kill(coordinatorId)))
    throw new TallymanError(
      "INVALID_STATE",
      `${coordinatorId} leads, which is not the demo's: stop it first.`,
    );
  let next = await register.findLeader();
  await until("another leader", async () => {
    next = await register.findLeader();
    return next !== undefined && next.epoch > epoch;
  });
  const failoverMs = Math.round(performance.now() - killedMs);
  startCoordinator(processes, coordinatorId);
  const isBack = async () =>
    (await register.coordinator(coordinatorId)).lastHeartbeatTime > lastHeartbeatTime;
  return { leader: next?.coordinatorId, leaderEpoch: next?.epoch, failoverMs, isBack };
}

async function ownership({ fleet }: Scheduler) {
  const segments = await fleet.segmentMap();
  const online = (await fleet.listWorkers()).filter(({ status }) => status === "ONLINE");
  const shares = online.map(({ assignedSegments }) => assignedSegments.length);
  const segmentsOwned = segments.filter(({ status }) => status === "ASSIGNED").length;
  return { segmentsOwned, total: segments.length, spread: Math.max(...shares) - Math.min(...shares), shares };
}

async function isShared(scheduler: Scheduler): Promise<boolean> {
  const { segmentsOwned, total, spread, shares } = await ownership(scheduler);
  return shares.length >= workers.length && segmentsOwned === total && spread <= 1;
}
