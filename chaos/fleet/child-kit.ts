/**
 * What the processes of the fleet have in common: who they are, where the database is, what they wrote down,
 * and how they are asked to do something.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleepOnTimer } from "node:timers/promises";
import {
  type Clock,
  configureLogging,
  NatsTopics,
  type Service,
  Tallyman,
  type Topics,
} from "../../src/index.ts";
import { armCrashPoints } from "../../src/runtime/index.ts";
import { randomFrom } from "../random.ts";
import { type ChildSettings, settingsVariable } from "./child-settings.ts";
import { JsonlLog } from "./jsonl-log.ts";
import { names, type RunPlan } from "./plan.ts";

export const settings = JSON.parse(process.env[settingsVariable] ?? "{}") as ChildSettings;

const poolMax = 6;
/** Longer than every lease, claim and heartbeat of the fleet. */
const exhausted = { lowSeconds: 1.8, spreadSeconds: 1.4 };

/** This process's own numbers: those of its slot and life. */
export const random = randomFrom(settings.seed * 1_000 + settings.life * 31 + hashOf(settings.slot));

/** Where this process writes down what was accepted; a file per life, so that a torn line stays the last. */
export function openLog(): JsonlLog {
  return new JsonlLog(join(settings.folder, "accepted", `${settings.slot}.${settings.life}.jsonl`));
}

/** True when no new input should be made. */
export function isQuiet(): boolean {
  return existsSync(join(settings.folder, names.quietFile));
}

/** A clock whose wall time is off, as machines' are; durations are right. */
export const clock: Clock = {
  now: () => Date.now() + settings.clockOffsetMs,
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => sleepOnTimer(Math.min(ms, 2 ** 31 - 1), undefined, { signal }),
};

let tallyman: Tallyman | undefined;

/** Opens Tallyman through this slot's own network; its connections bear the process's name. */
export async function openTallyman(): Promise<Tallyman> {
  configureLogging({ level: "warn", format: "pretty" });
  tallyman = await Tallyman.connect({
    database: {
      url: settings.databaseUrl,
      poolMax,
      applicationName: `${settings.slot}.${settings.life}`,
      acquireTimeoutMs: 5_000,
    },
    migrate: false,
  });
  return tallyman;
}

/** The topics of this run: in the database, or on NATS. */
export async function openTopics(tallyman: Tallyman): Promise<Topics> {
  return settings.natsUrl ? NatsTopics.connect({ servers: settings.natsUrl }) : tallyman.topics;
}

/** The run of ticks that this process works on. */
export function runPlanOf(argument: string | undefined): RunPlan {
  const plan = settings.runs[Number(argument)];
  if (!plan) throw new RangeError(`There is no run ${argument}.`);
  return plan;
}

/**
 * Starts services, says so, and stops them on SIGTERM; one that ends in ERROR ends the process. Meanwhile does
 * what the harness asks for.
 *
 * @param act what this child alone can be asked for
 */
export async function serve(
  services: readonly Service[],
  act: (request: Request) => Promise<void> = refuse,
): Promise<void> {
  answerRequests(act);
  for (const service of services)
    service.onStateChange((state) => {
      if (state !== "ERROR") return;
      process.stderr.write(`${service.name} ended in ERROR: ${String(service.failure)}\n`);
      process.exit(1);
    });
  process.once("SIGTERM", async () => {
    await Promise.all(services.map((service) => service.stop()));
    process.exit(0);
  });
  // The harness is gone: nobody would ever end this process.
  process.stdin.resume().once("end", () => process.exit(1));
  for (const service of services) await service.start();
  process.stdout.write("ready\n");
}

/** One thing that the harness asks a child to do. */
export interface Request {
  readonly number: number;
  readonly what: string;
  readonly random: number;
}

/** Does what is asked for on standard input, and says when it is done. */
function answerRequests(act: (request: Request) => Promise<void>): void {
  createInterface(process.stdin).on("line", (line) => {
    const request = JSON.parse(line) as Request;
    const [what = "", argument = ""] = request.what.split(" ");
    const done = shared[what]?.(argument, request.random) ?? act(request);
    done.then(
      () => void process.stdout.write(`did ${request.number}\n`),
      (error: unknown) => void process.stderr.write(`request failed: ${String(error)}\n`),
    );
  });
}

/** What every child can be asked for. */
const shared: Readonly<Record<string, (argument: string, random: number) => Promise<unknown>>> = {
  arm: async (crashPoints) => armCrashPoints(crashPoints),
  /** All connections of the pool are busy for a while. */
  "pool-exhausted": (_, number) => {
    const seconds = exhausted.lowSeconds + exhausted.spreadSeconds * number;
    const sleeping = () => tallyman?.database.query("SELECT pg_sleep($1)", [seconds]);
    return Promise.all(Array.from({ length: poolMax }, sleeping));
  },
};

async function refuse({ what }: Request): Promise<void> {
  throw new RangeError(`What is ${what}?`);
}

function hashOf(text: string): number {
  return [...text].reduce((sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) >>> 0, 7);
}
