import { randomUUID } from "node:crypto";
import type { Database } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { Counter, MonitoredService } from "../monitoring/index.ts";
import { type GivenOptions, logger, resolveOptions, WakeUp, wholeNumber } from "../runtime/index.ts";
import { type CoordinatorOptions, coordinatorDefaults, coordinatorRules } from "./coordinator-options.ts";
import { coordinatorStore, type Term } from "./coordinator-store.ts";
import { Election } from "./election.ts";
import { coordinatorReplaced, noLeader, unknownWorker } from "./errors.ts";
import { Fleet, segmentCountMax } from "./fleet.ts";
import { hint, schedulerChannels } from "./hints.ts";
import { Leader } from "./leader.ts";
import { LeaderLoop } from "./leader-loop.ts";
import {
  type CoordinatorRegistration,
  deleteCoordinator,
  heartbeatCoordinator,
  registerCoordinator,
  registerCoordinatorAgain,
} from "./sql/coordinator.ts";
import { checkId } from "./validate-id.ts";
import type { WorkerInfo } from "./worker-info.ts";

const log = logger("scheduler.coordinator");

const pollMsMax = 2_000;
const outageRetryMs = 500;

/**
 * A coordinator: registers itself, campaigns, and while it leads looks after the fleet. Any number may run,
 * one leads. It stops acting by its own clock before its lease can run out, and resigns on stop, so that a
 * follower takes over at once. When the database does not answer it goes on trying.
 *
 * @example
 * ```ts
 * await using coordinator = new Coordinator(database, { coordinatorId: "coordinator-1", port: 8082 });
 * await coordinator.start();
 * ```
 */
export class Coordinator extends MonitoredService {
  readonly coordinatorId: string;
  /** This start of this process: what the lease is held by. */
  readonly bootId: string = randomUUID();
  readonly #database: Database;
  readonly #options: Readonly<CoordinatorOptions>;
  readonly #election: Election;
  readonly #leader: Leader;
  readonly #loop: LeaderLoop;
  readonly #fleet: Fleet;
  readonly #wakeUp: WakeUp;
  readonly #elections = new Counter();
  #unsubscribe: (() => void) | undefined;
  #ledEpoch = 0;
  #heartbeatMs = 0;
  #isOutage = false;

  constructor(database: Database, given: GivenOptions<CoordinatorOptions>) {
    super("scheduler.coordinator");
    const options = resolveOptions(coordinatorDefaults, given, coordinatorRules);
    checkId("coordinatorId", options.coordinatorId);
    this.coordinatorId = options.coordinatorId;
    this.#database = database;
    this.#options = options;
    const { coordinatorId, host, port, leaseMs, renewMs, revokeMs, joinDelayMs, clock } = options;
    const pollMs = Math.min(pollMsMax, options.leaderElectionIntervalMs);
    const store = coordinatorStore(database);
    const candidate = { holder: this.bootId, coordinatorId, host, port, leaseMs };
    this.#election = new Election(store, { ...candidate, renewMs, pollMs, clock });
    this.#leader = new Leader(store, this.#election, { revokeMs, joinDelayMs, clock });
    this.#loop = new LeaderLoop({ database, leader: this.#leader, options, errors: this.errors });
    this.#fleet = new Fleet(database);
    this.#wakeUp = new WakeUp(clock);
  }

  /** The term that this process leads in, as far as it can tell without asking the database. */
  get term(): Term | undefined {
    return this.#election.term;
  }

  /**
   * Answers a worker that asks for segments: sets its cap, and gives it the lowest available ones at once.
   * The same number again changes nothing; a higher one raises the cap, a lower one revokes what is too much.
   *
   * @returns the worker with what it holds now; what is still lacking follows when others have given it back
   * @throws TallymanError SCHEDULER_NO_LEADER when this coordinator does not lead; SCHEDULER_WORKER_NOT_FOUND;
   * INVALID_STATE when the worker is not ONLINE; INVALID_OPTION
   */
  async assign(workerId: string, desiredSegments: number): Promise<WorkerInfo> {
    checkId("workerId", workerId);
    resolveOptions({ desiredSegments: 0 }, { desiredSegments }, desiredRule);
    const outcome = await this.#leader.assign(workerId, desiredSegments);
    if (outcome === "NOT_LEADER") throw noLeader();
    if (outcome === "UNKNOWN_WORKER") throw unknownWorker(workerId);
    if (outcome !== "CHANGED" && outcome !== "UNCHANGED") throw notOnline(workerId, outcome);
    if (outcome === "CHANGED") await this.#changed();
    return this.#fleet.worker(workerId);
  }

  override getMetrics(): Readonly<Record<string, number>> {
    const { term } = this;
    return {
      ...super.getMetrics(),
      ...this.#loop.counts,
      is_leader: term ? 1 : 0,
      leader_epoch: term?.epoch ?? this.#ledEpoch,
      elections_won: this.#elections.value,
    };
  }

  protected override async onStart(): Promise<void> {
    const { leadership } = schedulerChannels(this.#database);
    this.#unsubscribe = this.#database.listener.subscribe(leadership, () => this.#wakeUp.notify());
    await registerCoordinator(this.#database, this.#registration());
    this.#heartbeatMs = this.#options.clock.monotonicMs();
    await this.#loop.start();
  }

  /** One move of the election, and a heartbeat when one is due. */
  protected override async runOnce(signal: AbortSignal): Promise<void> {
    const waitMs = await this.#move();
    await this.#wakeUp.wait(waitMs, signal);
  }

  protected override async onStop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#loop.stop();
    try {
      if (await this.#election.resign()) await hint(this.#database, "leadership");
      await deleteCoordinator(this.#database, this.coordinatorId, this.bootId);
    } catch (error) {
      log.debug("Could not resign; the lease runs out by itself", { error });
    }
  }

  async #move(): Promise<number> {
    try {
      const waitMs = await this.#election.step();
      this.#notice();
      const heartbeatInMs = await this.#heartbeat();
      this.#isOutage = false;
      return Math.min(waitMs, heartbeatInMs);
    } catch (error) {
      if (error instanceof TallymanError && error.code === "SCHEDULER_COORDINATOR_REPLACED") throw error;
      this.#outage(error);
      return outageRetryMs;
    }
  }

  /** A new term begins with a round of the leader. */
  #notice(): void {
    const { term } = this;
    if (!term || term.epoch === this.#ledEpoch) return;
    this.#ledEpoch = term.epoch;
    this.#elections.increment();
    this.#loop.wake();
  }

  /** Time until the next heartbeat. */
  async #heartbeat(): Promise<number> {
    const { clock, heartbeatIntervalMs } = this.#options;
    const dueInMs = this.#heartbeatMs + heartbeatIntervalMs - clock.monotonicMs();
    if (dueInMs > 0) return dueInMs;
    if (!(await heartbeatCoordinator(this.#database, this.coordinatorId, this.bootId))) await this.#return();
    this.#heartbeatMs = clock.monotonicMs();
    return heartbeatIntervalMs;
  }

  /** A coordinator that was silent for long, as on a machine that slept, is forgotten: it presents itself again. */
  async #return(): Promise<void> {
    if (!(await registerCoordinatorAgain(this.#database, this.#registration())))
      throw coordinatorReplaced(this.coordinatorId);
    log.info(`${this.coordinatorId} had been forgotten, and is registered again.`);
  }

  #registration(): CoordinatorRegistration {
    const { coordinatorId, host, port, heartbeatTimeoutMs } = this.#options;
    return { coordinatorId, bootId: this.bootId, host, port, heartbeatTimeoutMs };
  }

  #outage(error: unknown): void {
    const details = `Error: ${String(error)}`;
    this.errors.add({
      code: "ELECTION_FAILED",
      message: "The database did not answer the election",
      details,
    });
    if (!this.#isOutage) log.warn("The database does not answer; the coordinator keeps trying", { error });
    this.#isOutage = true;
  }

  async #changed(): Promise<void> {
    this.#loop.wake();
    await hint(this.#database, "segments");
  }
}

const desiredRule = { desiredSegments: wholeNumber({ min: 0, max: segmentCountMax }) };

function notOnline(workerId: string, status: string): TallymanError {
  return new TallymanError(
    "INVALID_STATE",
    `Scheduler worker '${workerId}' is ${status}: only one that is ONLINE gets segments. A heartbeat or a new registration brings it back.`,
    { details: { workerId, status } },
  );
}
