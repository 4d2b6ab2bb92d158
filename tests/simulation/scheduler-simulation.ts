import { allFences, type Fences, SchedulerModel } from "../models/scheduler-model.ts";
import { badWeather, goodWeather, Network } from "./network.ts";
import { CoordinatorNode, leaseMs, WorkerNode, type World } from "./nodes.ts";
import { check, Observer } from "./observer.ts";
import { VirtualProcess, VirtualTime } from "./virtual-time.ts";

const coordinatorCount = 3;
const workerCount = 4;
const segmentCount = 12;
const chaosMs = 60_000;
const restMs = 60_000;
const troubleEveryMs = 1_500;
const pauseMsMax = 20_000;
/** Trust ends a fifth of a lease early: clocks may run up to that much slow. */
const rates = { min: 0.85, max: 1.2 };

/** What a run saw, so that a run in which nothing happened is noticed. */
export interface SimulationReport {
  readonly terms: number;
  readonly fires: number;
  readonly grants: number;
}

/**
 * One life of a fleet, decided by its seed: a minute of bad connections, pauses, deaths, restarts and leavings,
 * then a minute of rest, at whose end everything must be owned fairly.
 *
 * @throws Violation of the first invariant that is broken
 */
export async function simulate(seed: number, fences: Fences = allFences): Promise<SimulationReport> {
  const simulation = new Simulation(seed, fences);
  await simulation.chaos();
  return simulation.rest();
}

class Simulation {
  readonly #time = new VirtualTime();
  readonly #random: () => number;
  readonly #world: World;
  readonly #coordinators: CoordinatorNode[];
  readonly #workers: WorkerNode[];
  #boots = 0;

  constructor(seed: number, fences: Fences) {
    this.#random = randomFrom(seed);
    const model = new SchedulerModel(segmentCount, () => this.#time.nowMs, fences);
    const observer = new Observer(model);
    const network = new Network(this.#time, this.#random);
    this.#world = { model, observer, network, random: this.#random };
    this.#coordinators = Array.from({ length: coordinatorCount }, () => this.#startCoordinator());
    this.#workers = Array.from({ length: workerCount }, (_, i) => this.#startWorker(`w${i}`));
  }

  async chaos(): Promise<void> {
    this.#world.network.weather = badWeather;
    const trouble = () => {
      this.#cause();
      if (this.#time.nowMs < chaosMs) this.#time.after(this.#random() * troubleEveryMs * 2, trouble);
    };
    this.#time.after(0, trouble);
    await this.#run(chaosMs);
  }

  async rest(): Promise<SimulationReport> {
    const { network, observer, model } = this.#world;
    network.weather = goodWeather;
    for (const { process } of [...this.#coordinators, ...this.#workers]) process.pausedUntilMs = 0;
    await this.#run(chaosMs + restMs / 2);
    for (let i = 0; i < workerCount; i++) if (!this.#isUp(i)) this.#restartWorker(i);
    for (let i = 0; i < coordinatorCount; i++)
      if (!this.#coordinators[i]?.process.isAlive) this.#coordinators[i] = this.#startCoordinator();
    await this.#run(chaosMs + restMs);
    this.#checkRest();
    const { fires, grants } = observer;
    await this.#checkJoin();
    return { terms: model.lease.epoch, fires, grants };
  }

  /** Something happens to somebody. */
  #cause(): void {
    const kind = Math.floor(this.#random() * 8);
    const c = Math.floor(this.#random() * coordinatorCount);
    const w = Math.floor(this.#random() * workerCount);
    if (kind === 0) this.#pause(this.#coordinators[c]?.process);
    if (kind === 1) this.#pause(this.#workers[w]?.process);
    if (kind === 2) this.#restartCoordinator(c);
    if (kind === 3) void this.#coordinators[c]?.stop();
    if (kind === 4) void this.#workers[w]?.leave();
    if (kind === 5) this.#kill(this.#workers[w]?.process);
    if (kind === 6) this.#restartWorker(w);
    // The one before goes on: two processes under one id.
    if (kind === 7) this.#workers[w] = this.#startWorker(`w${w}`);
  }

  #pause(process: VirtualProcess | undefined): void {
    if (process) process.pausedUntilMs = this.#time.nowMs + this.#random() * pauseMsMax;
  }

  #kill(process: VirtualProcess | undefined): void {
    if (process) process.isAlive = false;
  }

  #restartCoordinator(i: number): void {
    this.#kill(this.#coordinators[i]?.process);
    this.#coordinators[i] = this.#startCoordinator();
  }

  #restartWorker(i: number): void {
    this.#kill(this.#workers[i]?.process);
    this.#workers[i] = this.#startWorker(`w${i}`);
  }

  /** Whether the database counts this worker's latest process as online. */
  #isUp(i: number): boolean {
    const status = this.#world.model.workers.get(`w${i}`)?.status;
    return (this.#workers[i]?.process.isAlive ?? false) && status === "ONLINE";
  }

  #startCoordinator(): CoordinatorNode {
    return new CoordinatorNode(this.#world, this.#newProcess(), this.#newBoot());
  }

  #startWorker(workerId: string): WorkerNode {
    const caps = [null, null, 2, 5] as const;
    const cap = caps[Math.floor(this.#random() * caps.length)] ?? null;
    return new WorkerNode(this.#world, this.#newProcess(), { workerId, bootId: this.#newBoot(), cap });
  }

  #newProcess(): VirtualProcess {
    return new VirtualProcess(this.#time, rates.min + this.#random() * (rates.max - rates.min));
  }

  #newBoot(): string {
    return `boot-${++this.#boots}`;
  }

  async #run(untilMs: number): Promise<void> {
    await this.#time.runUntil(untilMs, () => this.#checkTrust());
  }

  /** Whoever believes to lead does: its own clock ends its trust before the database ends its lease. */
  #checkTrust(): void {
    const { lease } = this.#world.model;
    for (const { election, process } of this.#coordinators) {
      if (!process.isAlive || process.pausedUntilMs > this.#time.nowMs || !election.term) continue;
      const isTrue = election.term.epoch === lease.epoch && lease.expiresMs > this.#time.nowMs;
      check(isTrue, "a coordinator trusts a lease that is over");
    }
  }

  #checkRest(): void {
    const { lease, workers, segments } = this.#world.model;
    const leaders = this.#coordinators.filter(({ process, election }) => process.isAlive && election.term);
    check(leaders.length === 1 && lease.expiresMs > this.#time.nowMs - leaseMs, "5: nobody leads at rest");
    const online = [...workers].filter(([, { status }]) => status === "ONLINE");
    const caps = online.map(([, { cap }]) => cap ?? segmentCount);
    const counts = online.map(([id]) => segments.filter((segment) => segment.workerId === id).length);
    const owned = segments.filter(({ status }) => status === "ASSIGNED").length;
    const covered = caps.reduce((sum, cap) => sum + cap, 0);
    check(owned === Math.min(segmentCount, covered), "5: segments are not owned at rest");
    const below = counts.filter((count, i) => count < (caps[i] ?? 0));
    check(
      below.every((count) => Math.max(...counts) <= count + 1),
      "5: segments are not shared fairly at rest",
    );
    check(
      counts.every((count, i) => count <= (caps[i] ?? 0)),
      "5: a cap is exceeded at rest",
    );
  }

  /** One more worker: exactly what it ends up with has moved. */
  async #checkJoin(): Promise<void> {
    const { observer, model } = this.#world;
    const before = observer.grants;
    const available = model.segments.filter(({ status }) => status === "AVAILABLE").length;
    const workerId = "joiner";
    this.#workers.push(
      new WorkerNode(this.#world, this.#newProcess(), { workerId, bootId: this.#newBoot(), cap: null }),
    );
    await this.#run(this.#time.nowMs + restMs / 2);
    const held = model.segments.filter((segment) => segment.workerId === workerId).length;
    check(held >= available, "5: the joiner did not get what was available");
    check(observer.grants - before === held, "5: more moved than a join takes");
  }
}

/** A small generator of random numbers, the same for the same seed everywhere (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
