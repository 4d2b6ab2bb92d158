import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { FileSystemStorage, TickDataSchema } from "../../src/index.ts";
import { NatsServer } from "../../src/testing/index.ts";
import { TcpProxy } from "../../tests/helpers/tcp-proxy.ts";
import { buildChildren } from "./build.ts";
import { CrashablePostgres } from "./crashable-postgres.ts";
import { outsideTicks } from "./outside-ticks.ts";
import { type FleetSize, names, type Part, type RunPlan, runPlans, slotsOf } from "./plan.ts";
import { type Deaths, ProcessSlot } from "./process-slot.ts";
import { StorageFolder } from "./storage-folder.ts";

/** What a stage is built for. */
export interface StageOptions {
  readonly seed: number;
  readonly parts: readonly Part[];
  readonly topics: "postgres" | "nats";
  /** How long faults will strike. */
  readonly faultMs: number;
  readonly size: FleetSize;
  /** File with a bug that is planted in the product. */
  readonly patch: string | undefined;
}

/** A process, and the network between it and the database. */
export interface Member {
  readonly process: ProcessSlot;
  readonly network: TcpProxy;
}

const startWithinMs = 180_000;

/** Everything that a chaos run consists of: folder, database, topics, storage and processes. */
export class Stage {
  readonly folder: string;
  readonly postgres: CrashablePostgres;
  readonly storage: StorageFolder;
  readonly nats: NatsServer | undefined;
  readonly runs: readonly RunPlan[];
  readonly members: ReadonlyMap<string, Member>;

  private constructor(stage: Pick<Stage, "folder" | "postgres" | "storage" | "nats" | "runs" | "members">) {
    this.folder = stage.folder;
    this.postgres = stage.postgres;
    this.storage = stage.storage;
    this.nats = stage.nats;
    this.runs = stage.runs;
    this.members = stage.members;
  }

  /** Makes everything but the processes' first lives; nothing is left of it when that fails. */
  static async build(options: StageOptions): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), "tallyman-chaos-"));
    const undo: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      await chmod(folder, 0o755); // an embedded server started by root runs as another user
      for (const name of ["accepted", "logs"]) await mkdir(join(folder, name));
      const scriptOf = await buildChildren(join(folder, "build"), options.patch);
      const nats = options.topics === "nats" ? await NatsServer.start() : undefined;
      if (nats) undo.push(() => nats[Symbol.asyncDispose]());
      const storage = await StorageFolder.make(folder);
      undo.push(() => storage.disk.close({ keep: false }));
      const postgres = await CrashablePostgres.start(join(folder, "postgres"), scriptOf("prepare"));
      const runs = options.parts.includes("pipeline") ? runPlans(options.faultMs, options.size) : [];
      for (const { runId } of runs) await plantOutside(folder, runId);
      const place = { folder, postgres, storage, nats, runs };
      return new Stage({ ...place, members: await membersOf(place, options, scriptOf) });
    } catch (error) {
      for (const step of undo.toReversed()) await step();
      throw error;
    }
  }

  /** The member in a slot. */
  member(name: string): Member {
    const member = this.members.get(name);
    if (!member) throw new RangeError(`There is no slot ${name}.`);
    return member;
  }

  /** Starts all processes and waits until each was ready once. */
  async start(): Promise<void> {
    const all = [...this.members.values()];
    for (const { process } of all) process.start();
    const ready = Promise.all(all.map(({ process }) => process.untilReady())).then(() => true);
    if (await Promise.race([ready, sleep(startWithinMs, false)])) return;
    const late = all.filter(({ process }) => !process.isReady).map(({ process }) => process.slot.name);
    throw new Error(`Not ready after ${startWithinMs / 1_000} s: ${late.join(", ")}.`);
  }

  /** No new input from now on; every process, every connection and every file is well again. */
  async calm(): Promise<void> {
    await writeFile(join(this.folder, names.quietFile), "");
    for (const { process, network } of this.members.values()) {
      process.signal("SIGCONT");
      network.spare();
      network.comeUp();
      network.release();
    }
    for (const disk of [this.storage.disk, this.postgres.disk]) disk.empty();
    await this.storage.restoreHidden();
  }

  /** How the processes ended so far, all slots together. */
  deaths(): Deaths {
    const sum = { wanted: 0, atCrashPoint: 0, unready: 0, unwanted: 0 };
    for (const { process } of this.members.values())
      for (const kind of Object.keys(sum) as (keyof Deaths)[]) sum[kind] += process.deaths[kind];
    return sum;
  }

  /** The last words of processes that ended by themselves. */
  lastWords(): string[] {
    return [...this.members.values()].flatMap(({ process }) => process.lastWords);
  }

  /** Ends everything; the folder stays when it is to be kept. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    await Promise.all([...this.members.values()].map(({ process }) => process.stop()));
    for (const { network } of this.members.values()) await network[Symbol.asyncDispose]();
    await this.postgres.close({ keep });
    await this.nats?.[Symbol.asyncDispose]();
    await this.storage.disk.close({ keep });
    if (!keep) await rm(this.folder, { recursive: true, force: true });
  }
}

/** A slot and a network for each process that is needed. */
async function membersOf(
  { folder, postgres, nats, runs }: Pick<Stage, "folder" | "postgres" | "nats" | "runs">,
  { seed, parts, size, faultMs }: StageOptions,
  scriptOf: (role: string) => URL,
): Promise<Map<string, Member>> {
  const shared = { seed, folder, natsUrl: nats?.url, runs, faultMs };
  const members = new Map<string, Member>();
  for (const slot of slotsOf(parts, runs, size)) {
    const { proxy: network, url: databaseUrl } = await TcpProxy.start(() => postgres.url);
    const logFile = join(folder, "logs", `${slot.name}.log`);
    const process = new ProcessSlot(slot, { ...shared, databaseUrl }, { scriptOf, logFile });
    members.set(slot.name, { process, network });
  }
  return members;
}

/** A whole batch file beside the storage, which nobody may ever read. */
async function plantOutside(folder: string, runId: string): Promise<void> {
  const outside = new FileSystemStorage({ rootDirectory: join(folder, "outside"), codec: "none" });
  const { first, last } = outsideTicks;
  const ticks = Array.from({ length: last - first + 1 }, (_, n) =>
    create(TickDataSchema, { tickNumber: BigInt(first + n), simulationRunId: runId }),
  );
  await outside.writeBatch(runId, first, last, ticks, { schema: TickDataSchema });
}
