import type { Database } from "../database/index.ts";
import type { GivenOptions } from "../runtime/index.ts";
import { Coordinator } from "./coordinator.ts";
import type { CoordinatorOptions } from "./coordinator-options.ts";
import { Coordinators } from "./coordinators.ts";
import { Fleet } from "./fleet.ts";

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
  #localCoordinator: Coordinator | undefined;

  constructor(database: Database) {
    this.#database = database;
    this.fleet = new Fleet(database);
    this.coordinators = new Coordinators(database);
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
   * Changes the number of segments; see {@link Fleet.setSegmentCount}.
   *
   * @throws TallymanError INVALID_OPTION outside 1 to 1,024
   */
  setSegmentCount(count: number): Promise<void> {
    return this.fleet.setSegmentCount(count);
  }

  /** Stops the coordinator of this process. */
  async close(): Promise<void> {
    await this.#localCoordinator?.stop();
  }
}
