import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { deferred } from "../src/runtime/index.ts";
import type { Fault } from "./faults/fault.ts";
import { faultsFor } from "./faults/table.ts";
import { MemoryWatch } from "./fleet/memory-watch.ts";
import { names } from "./fleet/plan.ts";
import type { ProcessSlot } from "./fleet/process-slot.ts";
import { Stage } from "./fleet/stage.ts";
import { evidenceBytes } from "./judge/evidence.ts";
import type { Facts } from "./judge/facts.ts";
import { judge } from "./judge/judge.ts";
import { type Case, loadFacts } from "./judge/load-facts.ts";
import { installObservers } from "./judge/observers.ts";
import { withReader } from "./judge/reader.ts";
import { unsettled } from "./judge/settled.ts";
import { Watch } from "./judge/watch.ts";
import type { ChaosOptions } from "./options.ts";
import { type ChaosResult, isGreen, resultOf } from "./result.ts";
import { scheduleOf } from "./schedule.ts";
import { type StrikeCounts, strikeAll } from "./strikes.ts";

const minuteMs = 60_000;
const lookMs = 500;
const redriveMs = 20_000;

/**
 * One chaos run: starts the fleet, lets faults strike, lets everything come to rest, and judges. On failure the
 * folder with database, logs and schedule stays; nothing stays of a run that the signal ended.
 */
export async function runChaos(
  options: ChaosOptions,
  tell: (line: string) => void,
  signal?: AbortSignal,
): Promise<{ readonly result: ChaosResult; readonly folder: string }> {
  signal?.throwIfAborted();
  const stage = await Stage.build({ ...options, faultMs: options.minutes * minuteMs });
  let { keep } = options;
  const { promise: interrupted, reject } = deferred<never>();
  const interrupt = () => {
    keep = false;
    reject(new Error("The run was interrupted."));
  };
  signal?.addEventListener("abort", interrupt);
  try {
    const result = await Promise.race([breakAndJudge(stage, options, tell), interrupted]);
    await writeFile(join(stage.folder, "result.json"), JSON.stringify(result, null, 2));
    keep = options.keep && !isGreen(result);
    return { result, folder: stage.folder };
  } finally {
    signal?.removeEventListener("abort", interrupt);
    await stage.close({ keep });
  }
}

async function breakAndJudge(
  stage: Stage,
  options: ChaosOptions,
  tell: (line: string) => void,
): Promise<ChaosResult> {
  const { parts, topics, seed, minutes } = options;
  const about = caseOf(stage, options);
  await withReader(stage.postgres.url, installObservers);
  await stage.start();
  const watch = new Watch(() => stage.postgres.url, about);
  const memory = new MemoryWatch([...stage.members.values()].map(({ process }) => process));
  const counts = await strike(stage, options, tell);
  const { facts, unsettled: open } = await comeToRest(stage, about, options.settleMs, tell);
  const seen = await watch.stop();
  return resultOf({
    ...counts,
    ...{ seed, minutes, topics, parts },
    faults: Object.values(counts.byKind).reduce((sum, count) => sum + count, 0),
    unsettled: open,
    judged: { samples: seen.samples, ...amountsOf(facts) },
    deaths: stage.deaths(),
    lastWords: stage.lastWords(),
    memoryMegabytes: await memory.stop(),
    violations: [...seen.violations, ...judge(facts)],
  });
}

/** Makes the schedule, writes it down, and carries it out. */
async function strike(
  stage: Stage,
  options: ChaosOptions,
  tell: (line: string) => void,
): Promise<StrikeCounts> {
  const { seed, minutes, everyMs } = options;
  const isWanted = ({ name }: Fault) => options.faults.length === 0 || options.faults.includes(name);
  const faults = faultsFor(options).filter(isWanted);
  const schedule = scheduleOf({ seed, lengthMs: minutes * minuteMs, everyMs, faults });
  await writeFile(join(stage.folder, "schedule.json"), JSON.stringify({ options, schedule }, null, 2));
  tell(`${stage.members.size} processes are ready, ${schedule.length} faults follow`);
  return strikeAll(stage, faults, schedule, tell);
}

function caseOf({ folder, runs }: Stage, { parts }: ChaosOptions): Case {
  const { keylessIndexer: keylessClass, keyedIndexer: keyedClass } = names;
  return {
    folder,
    hasCommands: parts.includes("commands"),
    hasScheduler: parts.includes("scheduler"),
    runs: runs.map(({ runId, samplingInterval, lastTick }) => ({
      runId,
      samplingInterval,
      lastTick,
      keylessClass,
      keyedClass,
    })),
  };
}

/** No more input, everything well again; then what failed meanwhile is tried again, as an operator would. */
async function comeToRest(stage: Stage, about: Case, settleMs: number, tell: (line: string) => void) {
  const deadline = performance.now() + settleMs;
  await stage.calm();
  const first = await untilSettled(stage, about, deadline);
  tell(`at rest after the faults${first.unsettled.length > 0 ? `, but: ${first.unsettled.join("; ")}` : ""}`);
  const producers = [...stage.members.values()].filter(
    ({ process }) => process.slot.role === "tick-producer",
  );
  if (producers.length === 0) return first;
  const redriven = await Promise.all(producers.map(({ process }) => redrive(process, deadline)));
  const last = await untilSettled(stage, about, deadline);
  return redriven.includes(false)
    ? { ...last, unsettled: [...last.unsettled, "failed files were not tried again"] }
    : last;
}

/** Asks until it is done: the process may just have ended, or what it needs be away. */
async function redrive(process: ProcessSlot, deadline: number): Promise<boolean> {
  while (!(await process.ask("redrive", 0, redriveMs))) if (performance.now() > deadline) return false;
  return true;
}

/** Looks until nothing goes on any more, up to a time. */
async function untilSettled(
  stage: Stage,
  about: Case,
  deadline: number,
): Promise<{ facts: Facts; unsettled: string[] }> {
  for (;;) {
    await sleep(lookMs);
    const isLate = performance.now() > deadline;
    try {
      const logged = evidenceBytes(stage.folder);
      const facts = await withReader(stage.postgres.url, (client) => loadFacts(client, about));
      // What was written down between two looks, at the tables and at the logs, is in one of them alone.
      const isLogging = evidenceBytes(stage.folder) > logged;
      const open = [...unsettled(facts), ...(isLogging ? ["processes still write down what they do"] : [])];
      if (open.length === 0 || isLate) return { facts, unsettled: open };
    } catch (error) {
      if (isLate) throw error; // the database may be away for a while, not for ever
    }
  }
}

function amountsOf({ commands, scheduler, runs, evidence }: Facts): Record<string, number> {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  return {
    commands: commands?.commands.length ?? 0,
    batches: commands?.batches.length ?? 0,
    operatorActions: evidence.actions.length,
    fires: sum(scheduler?.jobs.map(({ fires }) => fires.length) ?? []),
    terms: new Set(scheduler?.leaseLog.map(({ epoch }) => epoch)).size,
    segmentChanges: scheduler?.segmentLog.length ?? 0,
    files: sum(runs.map(({ files }) => files.length)),
    ticks: sum(runs.map(({ seen }) => seen.size)),
  };
}
