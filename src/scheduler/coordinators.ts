import type { Database } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { resolveOptions, wholeNumber } from "../runtime/index.ts";
import { noLeader } from "./errors.ts";
import {
  type CoordinatorInfo,
  heartbeatCoordinator,
  registerCoordinator,
  selectCoordinators,
} from "./sql/coordinator.ts";
import { type LeaderInfo, selectLeader } from "./sql/lease.ts";
import { checkId } from "./validate-id.ts";

const heartbeatTimeoutMsDefault = 60_000;
const portMax = 65_535;

/** Where a coordinator can be reached. */
export interface CoordinatorAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * The register of coordinators and the present leader, as any process sees them. Being in the register is no
 * claim to lead: only a running {@link Coordinator} campaigns. Stateless: safe to share.
 *
 * @example
 * ```ts
 * const { coordinatorId, electedAt } = await new Coordinators(database).leader();
 * ```
 */
export class Coordinators {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Presents a coordinator. Idempotent.
   *
   * @throws TallymanError SCHEDULER_COORDINATOR_REPLACED when a process runs under this id at another address
   */
  async register(coordinatorId: string, given: CoordinatorAddress): Promise<CoordinatorInfo> {
    checkId("coordinatorId", coordinatorId);
    const address = resolveOptions<CoordinatorAddress>({ host: "", port: 1 }, given, addressRules);
    const heartbeatTimeoutMs = heartbeatTimeoutMsDefault;
    const registration = { coordinatorId, ...address, bootId: null, heartbeatTimeoutMs };
    if (!(await registerCoordinator(this.#database, registration))) {
      throw new TallymanError(
        "SCHEDULER_COORDINATOR_REPLACED",
        `A process runs as coordinator '${coordinatorId}' at another address. Choose another id.`,
        { details: { coordinatorId } },
      );
    }
    return this.coordinator(coordinatorId);
  }

  /**
   * Says that a coordinator is alive. Never renews leadership: that is a matter between the leader's process
   * and the database.
   *
   * @throws TallymanError SCHEDULER_COORDINATOR_NOT_FOUND
   */
  async heartbeat(coordinatorId: string): Promise<CoordinatorInfo> {
    checkId("coordinatorId", coordinatorId);
    await heartbeatCoordinator(this.#database, coordinatorId, null);
    return this.coordinator(coordinatorId);
  }

  /**
   * One coordinator.
   *
   * @throws TallymanError SCHEDULER_COORDINATOR_NOT_FOUND
   */
  async coordinator(coordinatorId: string): Promise<CoordinatorInfo> {
    const [found] = await selectCoordinators(this.#database, coordinatorId);
    if (found) return found;
    throw new TallymanError(
      "SCHEDULER_COORDINATOR_NOT_FOUND",
      `No coordinator '${coordinatorId}' is registered. Register it first.`,
      { details: { coordinatorId } },
    );
  }

  /** Every coordinator that is known, in the order of ids. */
  list(): Promise<readonly CoordinatorInfo[]> {
    return selectCoordinators(this.#database);
  }

  /** The present leader, by the database's clock; undefined when there is none. */
  findLeader(): Promise<LeaderInfo | undefined> {
    return selectLeader(this.#database);
  }

  /**
   * The present leader.
   *
   * @throws TallymanError SCHEDULER_NO_LEADER
   */
  async leader(): Promise<LeaderInfo> {
    const leader = await this.findLeader();
    if (!leader) throw noLeader();
    return leader;
  }
}

const addressRules = {
  host: (host: string) => (/^[\w.:-]{1,253}$/.test(host) ? undefined : "a host name or address"),
  port: wholeNumber({ max: portMax }),
};
