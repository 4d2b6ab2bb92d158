import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tallyman } from "../../app/index.ts";
import { Coordinator, type SchedulerWorker } from "../../scheduler/index.ts";
import { createServer, type HttpServer } from "../../server/index.ts";
import { LivingPipeline } from "./living-pipeline.ts";
import { LivingShop } from "./living-shop.ts";

const coordinatorIds = ["demo-coordinator-1", "demo-coordinator-2"];
const workerIds = ["demo-scheduler-1", "demo-scheduler-2", "demo-scheduler-3"];
const leader = { leaseMs: 3_000, renewMs: 1_000, heartbeatIntervalMs: 1_000, heartbeatTimeoutMs: 5_000 };
const heartbeat = { heartbeatIntervalMs: 500, heartbeatTimeoutMs: 5_000 };

/** Settings of a {@link LivingFleet}. */
export interface LivingFleetOptions {
  /** Port of the dashboard; 0 picks a free one. */
  readonly port: number;
}

/**
 * Everything at once, going on until it is disposed of: a shop with batches, a world that is indexed, coordinators and
 * workers with jobs, and the HTTP server with the dashboard that shows them.
 */
export class LivingFleet implements AsyncDisposable {
  readonly #tallyman: Tallyman;
  readonly #disposers: (() => PromiseLike<unknown>)[] = [];
  #server: HttpServer | undefined;
  readonly coordinators: Coordinator[] = [];
  readonly workers: SchedulerWorker[] = [];

  private constructor(tallyman: Tallyman) {
    this.#tallyman = tallyman;
  }

  /** Starts all of it; nothing is left when a part does not start. */
  static async start(tallyman: Tallyman, options: LivingFleetOptions): Promise<LivingFleet> {
    const fleet = new LivingFleet(tallyman);
    try {
      await fleet.#start(options);
      return fleet;
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Address of the dashboard. */
  get url(): string {
    return this.#server?.url ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const dispose of this.#disposers.toReversed()) await dispose();
  }

  async #start({ port }: LivingFleetOptions): Promise<void> {
    this.#server = this.#use(createServer(this.#tallyman, { port }));
    await this.#server.start();
    await this.#startScheduler(this.#server.port);
    await this.#addJobs();
    await this.#use(new LivingShop(this.#tallyman)).start();
    const folder = await mkdtemp(join(tmpdir(), "tallyman-demo-world-"));
    this.#disposers.push(() => rm(folder, { recursive: true, force: true }));
    this.#use(await LivingPipeline.start(this.#tallyman, folder));
  }

  async #startScheduler(port: number): Promise<void> {
    for (const coordinatorId of coordinatorIds) {
      const coordinator = this.#use(
        new Coordinator(this.#tallyman.database, { coordinatorId, port, ...leader }),
      );
      this.coordinators.push(coordinator);
      await coordinator.start();
    }
    for (const workerId of workerIds) {
      const worker = this.#use(this.#tallyman.scheduler.worker({ workerId, ...heartbeat }));
      this.workers.push(worker);
      await worker.start();
    }
  }

  async #addJobs(): Promise<void> {
    const { jobs } = this.#tallyman.scheduler;
    const command = { domain: "shipping", commandType: "ShipOrder", data: { item: 1 } };
    const schedules = {
      "demo/express orders": { everyMs: 5_000 },
      "demo/evening run": { cron: "0 18 * * *", timeZone: "Europe/Zurich" },
      "demo/every minute": { cron: "* * * * *", timeZone: "UTC" },
    };
    for (const [key, schedule] of Object.entries(schedules)) {
      await jobs.remove(key).catch(() => undefined); // of a demo that was killed
      await jobs.create(key, { schedule, command });
      this.#disposers.push(() => jobs.remove(key));
    }
  }

  #use<T extends AsyncDisposable>(part: T): T {
    this.#disposers.push(() => part[Symbol.asyncDispose]());
    return part;
  }
}
