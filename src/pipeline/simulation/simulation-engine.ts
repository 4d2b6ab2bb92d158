import { create } from "@bufbuild/protobuf";
import {
  EnvironmentConfigSchema,
  type SimulationMetadata,
  SimulationMetadataSchema,
} from "../../contracts/index.ts";
import { validateRunId } from "../../database/index.ts";
import { Counter, MonitoredService, SlidingWindowCounter } from "../../monitoring/index.ts";
import {
  type Clock,
  type GivenOptions,
  numberBetween,
  resolveOptions,
  systemClock,
  wholeNumber,
} from "../../runtime/index.ts";
import type { MetadataQueue } from "../producer/metadata-queue.ts";
import type { TickQueue } from "../producer/tick-queue.ts";
import type { SequenceSet } from "../sequence-set.ts";
import { Pace } from "./pace.ts";
import { type ResumeStorage, refuseOtherWorld, storedMetadata, writtenTicks } from "./resume.ts";
import { newRunId } from "./run-id.ts";
import { forgetDeaths, sample } from "./sample.ts";
import { step } from "./step.ts";
import { createWorld, type World } from "./world.ts";

/** What a simulation engine works with. */
export interface SimulationEngineResources {
  /** Where sampled ticks go. */
  readonly queue: TickQueue;
  /** Where the run's metadata goes, once. Without it, nobody is told about the run. */
  readonly metadataQueue?: MetadataQueue | undefined;
  /** Where the files of a run lie that is to go on; needed for that only. */
  readonly storage?: ResumeStorage | undefined;
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

/** Settings of a simulation engine. */
export interface SimulationEngineOptions {
  /** Cells from left to right, 4 to 1024. Default 64. */
  readonly worldWidth: number;
  /** Cells from top to bottom, 4 to 1024. Default 64. */
  readonly worldHeight: number;
  /** The same seed gives the same run. Default 1. */
  readonly seed: number;
  /** Every how many ticks the world is recorded. Default 1. */
  readonly samplingInterval: number;
  /** How many ticks the run has, the one at the beginning included. Default: it never ends. */
  readonly maxTicks?: number | undefined;
  /** The run to begin, or to go on with when it has files. Default: a new one. */
  readonly runId?: string | undefined;
  /** No faster than this. Default: as fast as the machine and the writers behind the queue allow. */
  readonly ticksPerSecondMax?: number | undefined;
}

/** One run of an engine. */
interface Run {
  readonly world: World;
  readonly metadata: SimulationMetadata;
  /** Sampled ticks that are in files: they are simulated, but not handed over again. */
  readonly written: SequenceSet | undefined;
  isAnnounced: boolean;
}

/** How long the engine computes before it lets timers and other services run. */
const sliceMs = 10;

/**
 * Simulates a world and hands its sampled ticks to the queue, as fast as those behind the queue write them.
 *
 * An engine has one run. Stopped and started again, it goes on where it was. In a new process, with the run's
 * id and its storage, it computes the run again from its seed and hands over the ticks that no file holds: the
 * files together then hold what an uninterrupted run would have written. After its last tick, the engine stops
 * by itself.
 *
 * @example
 * ```ts
 * await using engine = new SimulationEngine("simulation", { queue, metadataQueue }, { seed: 7, maxTicks: 10_000 });
 * await engine.start();
 * ```
 */
export class SimulationEngine extends MonitoredService {
  readonly #resources: SimulationEngineResources;
  readonly #options: Readonly<SimulationEngineOptions>;
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #simulated = new Counter();
  readonly #sampled = new Counter();
  readonly #rate = new SlidingWindowCounter();
  #run: Run | undefined;

  /** @throws TallymanError INVALID_OPTION, RUN_ID_INVALID */
  constructor(
    name: string,
    resources: SimulationEngineResources,
    options: GivenOptions<SimulationEngineOptions> = {},
  ) {
    super(name);
    this.#resources = resources;
    this.#options = resolveEngineOptions(options);
    this.#clock = resources.clock ?? systemClock;
    this.#pace = new Pace(this.#options.ticksPerSecondMax, this.#clock);
  }

  /** The engine's run; undefined until it was started for the first time. */
  get runId(): string | undefined {
    return this.#run?.metadata.simulationRunId;
  }

  /** True when the run's last tick was handed over. */
  get isFinished(): boolean {
    return (this.#run?.world.tick ?? 0) >= (this.#options.maxTicks ?? Number.POSITIVE_INFINITY);
  }

  override getMetrics(): Readonly<Record<string, number>> {
    const world = this.#run?.world;
    return {
      ...super.getMetrics(),
      ticks_simulated: this.#simulated.value,
      ticks_sampled: this.#sampled.value,
      ticks_per_sec: this.#rate.getRate(),
      current_tick: world?.tick ?? 0,
      organisms_alive: world?.living.length ?? 0,
    };
  }

  protected override async onStart(signal: AbortSignal): Promise<void> {
    this.#run ??= await this.#begin(signal);
    this.#pace.restart();
    if (this.#run.isAnnounced) return;
    await this.#resources.metadataQueue?.offer(this.#run.metadata, { signal });
    this.#run.isAnnounced = true;
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    const run = this.#run;
    if (!run || this.isFinished) return void this.stop();
    const endMs = this.#clock.monotonicMs() + sliceMs;
    let ticks = 0;
    const ticksMax = this.#pace.ticksDue();
    do {
      await this.#handOver(run, signal);
      step(run.world);
      ticks++;
    } while (ticks < ticksMax && !this.isFinished && this.#clock.monotonicMs() < endMs);
    this.#simulated.increment(ticks);
    this.#rate.recordCount(ticks);
    await this.#pace.wait(ticks, signal);
  }

  /** The dead are forgotten only after they were handed over, so that an aborted offer can be repeated. */
  async #handOver({ world, metadata, written }: Run, signal: AbortSignal): Promise<void> {
    const { samplingInterval } = this.#options;
    if (world.tick % samplingInterval !== 0) return;
    if (!written?.has(world.tick)) {
      const { simulationRunId } = metadata;
      const tick = { ...sample(world), simulationRunId, capturedAtMs: BigInt(this.#clock.now()) };
      await this.#resources.queue.offer(tick, { samplingInterval, signal });
      this.#sampled.increment();
    }
    forgetDeaths(world);
  }

  async #begin(signal: AbortSignal): Promise<Run> {
    const { worldWidth: width, worldHeight: height, seed, runId, samplingInterval } = this.#options;
    const world = createWorld({ width, height, seed });
    const { storage } = this.#resources;
    const metadata = this.#metadata(runId ?? newRunId(this.#clock.now()));
    if (runId === undefined || !storage) return { world, metadata, written: undefined, isAnnounced: false };
    const stored = await storedMetadata(storage, runId);
    if (stored) refuseOtherWorld(stored, metadata);
    const written = await writtenTicks(storage, { runId, samplingInterval }, signal);
    const startTimeMs = stored?.startTimeMs ?? metadata.startTimeMs;
    return { world, metadata: { ...metadata, startTimeMs }, written, isAnnounced: false };
  }

  #metadata(runId: string): SimulationMetadata {
    const { worldWidth, worldHeight, seed, samplingInterval, maxTicks } = this.#options;
    return create(SimulationMetadataSchema, {
      simulationRunId: runId,
      startTimeMs: BigInt(this.#clock.now()),
      initialSeed: BigInt(seed),
      samplingInterval,
      environment: create(EnvironmentConfigSchema, {
        dimensions: 2,
        shape: [worldWidth, worldHeight],
        toroidal: [true, true],
      }),
      ...(maxTicks !== undefined && { declaredEndTick: BigInt(lastSampledTick(maxTicks, samplingInterval)) }),
    });
  }
}

function lastSampledTick(maxTicks: number, samplingInterval: number): number {
  return Math.floor((maxTicks - 1) / samplingInterval) * samplingInterval;
}

function resolveEngineOptions(
  given: GivenOptions<SimulationEngineOptions>,
): Readonly<SimulationEngineOptions> {
  const options = resolveOptions<SimulationEngineOptions>(
    {
      worldWidth: 64,
      worldHeight: 64,
      seed: 1,
      samplingInterval: 1,
      maxTicks: undefined,
      runId: undefined,
      ticksPerSecondMax: undefined,
    },
    given,
    {
      worldWidth: wholeNumber({ min: 4, max: 1024 }),
      worldHeight: wholeNumber({ min: 4, max: 1024 }),
      seed: wholeNumber({ min: 0 }),
      samplingInterval: wholeNumber({ max: 2 ** 31 - 1 }),
      ticksPerSecondMax: numberBetween(0.001, 1_000_000),
    },
  );
  if (options.runId !== undefined) validateRunId(options.runId);
  return options;
}
