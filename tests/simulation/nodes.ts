import type { CoordinatorStore, Term } from "../../src/scheduler/coordinator-store.ts";
import { Election } from "../../src/scheduler/election.ts";
import { Leader } from "../../src/scheduler/leader.ts";
import type { SegmentGrant } from "../../src/scheduler/worker-info.ts";
import type { SchedulerModel } from "../models/scheduler-model.ts";
import type { Network } from "./network.ts";
import type { Observer } from "./observer.ts";
import type { VirtualProcess } from "./virtual-time.ts";

export const leaseMs = 10_000;
const renewMs = 3_000;
const pollMs = 2_000;
const revokeMs = 5_000;
const joinDelayMs = 500;
const roundMs = 1_000;
const heartbeatMs = 1_000;
const heartbeatTimeoutMs = 6_000;
const outageMs = 500;

/** What nodes share. */
export interface World {
  readonly model: SchedulerModel;
  readonly observer: Observer;
  readonly network: Network;
  readonly random: () => number;
}

/** A coordinator as the product runs it: the same election and leader, on a database that may be far away. */
export class CoordinatorNode {
  readonly process: VirtualProcess;
  readonly election: Election;
  readonly #leader: Leader;

  constructor(world: World, process: VirtualProcess, bootId: string) {
    this.process = process;
    const store = remoteStore(world, process);
    const candidate = { holder: bootId, coordinatorId: bootId, host: "h", port: 1, leaseMs };
    const { random } = world;
    this.election = new Election(store, { ...candidate, renewMs, pollMs, clock: process, random });
    this.#leader = new Leader(store, this.election, { revokeMs, joinDelayMs, clock: process });
    void this.#campaign();
    void this.#lead();
  }

  /** Resigns, then ends. */
  async stop(): Promise<void> {
    await this.election.resign().catch(() => false);
    this.process.isAlive = false;
  }

  async #campaign(): Promise<never> {
    for (;;) await this.process.sleep(await this.election.step().catch(() => outageMs));
  }

  async #lead(): Promise<never> {
    for (;;) {
      const round = await this.#leader.runOnce().catch(() => undefined);
      await this.process.sleep(Math.min(roundMs, round?.dueInMs ?? roundMs));
    }
  }
}

/** A worker: heartbeats, works on what it was granted until it hears otherwise, gives back what it is asked for. */
export class WorkerNode {
  readonly process: VirtualProcess;
  readonly workerId: string;
  readonly cap: number | null;
  readonly #world: World;
  readonly #bootId: string;
  #grants: readonly SegmentGrant[] = [];
  #isLeaving = false;

  constructor(
    world: World,
    process: VirtualProcess,
    identity: { workerId: string; bootId: string; cap: number | null },
  ) {
    this.process = process;
    this.workerId = identity.workerId;
    this.cap = identity.cap;
    this.#bootId = identity.bootId;
    this.#world = world;
    void this.#live();
    void this.#work();
  }

  /** Gives everything back, then ends. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    const { model, observer } = this.#world;
    const isMine = () => model.workers.get(this.workerId)?.bootId === this.#bootId;
    await this.#call(() =>
      observer.token(isMine(), () => model.releaseAll(this.workerId, this.#bootId, true)),
    ).catch(() => undefined);
    this.process.isAlive = false;
  }

  async #live(): Promise<void> {
    while (!this.#isLeaving && !(await this.#register())) await this.process.sleep(outageMs);
    while (!this.#isLeaving) {
      const answer = await this.#heartbeat().catch(() => "lost" as const);
      // Another process has our place, or we have been forgotten.
      if (answer === undefined) return;
      if (answer !== "lost") {
        this.#grants = [...answer.assigned, ...answer.revoking];
        if (answer.revoking.length > 0) await this.#release(answer.revoking);
      }
      await this.process.sleep(heartbeatMs);
    }
  }

  async #work(): Promise<void> {
    const { random } = this.#world;
    for (;;) {
      await this.process.sleep(200 + random() * 1_500);
      const grant = this.#grants[Math.floor(random() * this.#grants.length)];
      if (grant) await this.#fire(grant).catch(() => undefined);
    }
  }

  #register(): Promise<boolean> {
    const { model, observer } = this.#world;
    const registration = {
      workerId: this.workerId,
      bootId: this.#bootId,
      cap: this.cap,
      heartbeatTimeoutMs,
    };
    return this.#call(() => observer.look(() => model.register(registration))).catch(() => false);
  }

  #heartbeat() {
    const { model, observer } = this.#world;
    const isMine = () => model.workers.get(this.workerId)?.bootId === this.#bootId;
    return this.#call(() => observer.token(isMine(), () => model.heartbeat(this.workerId, this.#bootId)));
  }

  async #release(grants: readonly SegmentGrant[]): Promise<void> {
    const { model, observer } = this.#world;
    const isHeld = () => grants.some((grant) => model.passes(this.workerId, grant));
    this.#grants = this.#grants.filter((grant) => !grants.includes(grant));
    await this.#call(() => observer.token(isHeld(), () => model.release(this.workerId, grants))).catch(
      () => undefined,
    );
  }

  /** The statement that a fire is: the segment's row on (worker, epoch), and the effect. */
  #fire(grant: SegmentGrant): Promise<void> {
    const { model, observer } = this.#world;
    return this.#call(() => {
      if (model.passes(this.workerId, grant)) observer.fired(this.#bootId, grant);
    });
  }

  #call<T>(statement: () => T): Promise<T> {
    return this.#world.network.call(this.process, statement);
  }
}

function remoteStore({ model, observer, network }: World, process: VirtualProcess): CoordinatorStore {
  const call = <T>(statement: () => T) => network.call(process, statement);
  const write = <T>(term: Term, statement: () => T) => call(() => observer.write(term, statement));
  return {
    acquire: (attempt) => call(() => observer.look(() => model.acquire(attempt))),
    renew: (term, ms) => call(() => observer.token(model.holds(term), () => model.renew(term, ms))),
    resign: (term) => call(() => observer.token(model.holds(term), () => model.resign(term))),
    fleetState: () => call(() => structuredClone(model.fleetState())),
    takeBack: (term) => write(term, () => model.takeBack(term)),
    assign: (term, moves) => write(term, () => model.assign(term, moves)),
    revoke: (term, moves, ms) => write(term, () => model.revoke(term, moves, ms)),
    assignDesired: (term, request) => write(term, () => model.assignDesired(term, request)),
    deleteForgotten: (term) => call(() => (model.holds(term) ? 0 : undefined)),
  };
}
