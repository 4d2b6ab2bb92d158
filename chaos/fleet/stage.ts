import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { FileSystemStorage, TickDataSchema } from "../../src/index.ts";
import { NatsServer } from "../../src/testing/index.ts";
import { TcpProxy } from "../../tests/helpers/tcp-proxy.ts";
import { buildChildren } from "./build.ts";
import { CrashablePostgres } from "./crashable-postgres.ts";
import { outsideTicks } from "./outside-ticks.ts";
import { names, type Part, type RunPlan, runPlans, slotsOf } from "./plan.ts";
import { type Deaths, ProcessSlot } from "./process-slot.ts";
import { StorageFolder } from "./storage-folder.ts";

/** What a stage is built for. */
export interface StageOptions {
  readonly seed: number;
  readonly parts: readonly Part[];
  readonly topics: "postgres" | "nats";
  /** How long faults will strike. */
  readonly faultMs: number;
}

/** A process, and the network between it and the database. */
export interface Member {
  readonly process: ProcessSlot;
  readonly network: TcpProxy;
}

const drainMs = 5_000;
/** About how long a fleet takes to start; faults begin after it. */
const startMs = 8_000;

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

  static async build(options: StageOptions): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), "tallyman-chaos-"));
    await chmod(folder, 0o755); // an embedded server started by root runs as another user
    for (const name of ["accepted", "logs"]) await mkdir(join(folder, name));
    const storage = await StorageFolder.make(folder);
    const scriptOf = await buildChildren(join(folder, "build"));
    const postgres = await CrashablePostgres.start(join(folder, "postgres"));
    const nats = options.topics === "nats" ? await NatsServer.start() : undefined;
    const runs = options.parts.includes("pipeline") ? runPlans(options.faultMs) : [];
    for (const { runId } of runs) await plantOutside(folder, runId);
    const shared = {
      seed: options.seed,
      folder,
      natsUrl: nats?.url,
      runs,
      faultsEndAt: new Date(Date.now() + startMs + options.faultMs).toISOString(),
    };
    const members = new Map<string, Member>();
    for (const slot of slotsOf(options.parts, runs)) {
      const { proxy: network, url: databaseUrl } = await TcpProxy.start(() => postgres.url);
      const logFile = join(folder, "logs", `${slot.name}.log`);
      const process = new ProcessSlot(slot, { ...shared, databaseUrl }, { scriptOf, logFile });
      members.set(slot.name, { process, network });
    }
    return new Stage({ folder, postgres, storage, nats, runs, members });
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
    await Promise.all(all.map(({ process }) => process.untilReady()));
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
    await this.storage.empty();
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
    await Promise.all([...this.members.values()].map(({ process }) => process.stop(drainMs)));
    for (const { network } of this.members.values()) await network[Symbol.asyncDispose]();
    await this.postgres[Symbol.asyncDispose]();
    await this.nats?.[Symbol.asyncDispose]();
    await this.storage.close({ keep });
    if (!keep) await rm(this.folder, { recursive: true, force: true });
  }
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
