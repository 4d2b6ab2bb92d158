import type { CommandBus } from "../commands/index.ts";
import type { Database } from "../database/index.ts";
import type { GivenOptions } from "../runtime/index.ts";
import { Coordinator } from "./coordinator.ts";
import type { CoordinatorOptions } from "./coordinator-options.ts";
import { Coordinators } from "./coordinators.ts";
import { Fleet } from "./fleet.ts";
import { JobStore } from "./job-store.ts";
import { SchedulerWorker } from "./scheduler-worker.ts";
import type { SchedulerWorkerOptions } from "./scheduler-worker-options.ts";

/**
 * The scheduler of one database: its fleet, its coordinators, and the coordinator of this process when it
 * has one.
 *
 * @example
 * ```ts
 * const coordinator = tallyman.scheduler.coordinator({ coordinatorId: "coordinator-1", port: 8082 });
 * await coordinator.start();
 * const workers = await tallyman.scheduler.fleet.listWorkers();
 * ```
 */
export class Scheduler {
  readonly fleet: Fleet;
  readonly coordinators: Coordinators;
  readonly #database: Database;
  readonly #bus: () => CommandBus;
  #jobs: JobStore | undefined;
  #localCoordinator: Coordinator | undefined;

  /** @param bus what jobs are fired on; asked for when it is needed */
  constructor(database: Database, bus: () => CommandBus) {
    this.#database = database;
    this.#bus = bus;
    this.fleet = new Fleet(database);
    this.coordinators = new Coordinators(database);
  }

  /** What fires when. */
  get jobs(): JobStore {
    this.#jobs ??= new JobStore(this.#database, this.#bus());
    return this.#jobs;
  }

  /**
   * Makes a scheduler worker, which fires due jobs; whoever calls this starts and stops it.
   *
   * @throws TallymanError INVALID_OPTION
   */
  worker(options: GivenOptions<SchedulerWorkerOptions> = {}): SchedulerWorker {
    return new SchedulerWorker(this.#database, this.#bus(), options);
  }

  /** The coordinator that this process made last. */
  get localCoordinator(): Coordinator | undefined {
    return this.#localCoordinator;
  }

  /**
   * Makes a coordinator; whoever calls this starts and stops it.
   *
   * @throws TallymanError INVALID_OPTION
   */
  coordinator(options: GivenOptions<CoordinatorOptions>): Coordinator {
    this.#localCoordinator = new Coordinator(this.#database, options);
    return this.#localCoordinator;
  }

  /**
   * Changes the number of segments and moves the jobs; see {@link Fleet.setSegmentCount}.
   *
   * @throws TallymanError INVALID_OPTION outside 1 to 1,024
   */
  setSegmentCount(count: number): Promise<void> {
    return this.fleet.setSegmentCount(count, { remap: (tx, segments) => this.jobs.remap(tx, segments) });
  }

  /** Stops the coordinator of this process. */
  async close(): Promise<void> {
    await this.#localCoordinator?.stop();
  }
}
