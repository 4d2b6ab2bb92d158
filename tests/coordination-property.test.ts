import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  accountForTicks,
  type BatchCoordinatorReady,
  createBatchCoordinator,
} from "../src/coordination/index.ts";
import { type Database, ensureRunSchema } from "../src/database/index.ts";
import { isTallymanError } from "../src/errors/index.ts";
import { setup } from "../src/testing/index.ts";
import {
  CoordinationModel,
  filesArbitrary,
  instanceCount,
  type ModelFile,
  type Step,
  stepsArbitrary,
} from "./models/coordination-model.ts";

const modelCases = Number(process.env.TALLYMAN_MODEL_CASES ?? 10_000);
const databaseCases = Number(process.env.TALLYMAN_DATABASE_CASES ?? 100);

function apply(model: CoordinationModel, step: Step): boolean | undefined {
  const file = "file" in step ? model.files[step.file] : undefined;
  if ("file" in step && !file) return undefined;
  switch (step.kind) {
    case "announce":
      return void (file && model.known.add(file.name));
    case "claim":
      return file && model.known.has(file.name) ? model.claim(step.instance, file) : undefined;
    case "complete":
      return file && model.end(step.instance, file, "completed");
    case "fail":
      return file && model.end(step.instance, file, "failed");
    case "renew":
      return void model.renew(step.instance);
    case "release":
      return void (file && model.release(step.instance, file));
    case "crash":
      return void model.crash(step.instance);
    default:
      return void model[step.kind]();
  }
}

function expectAccounted(model: CoordinationModel): void {
  model.reconcile();
  expect(model.classes()).not.toContain("missing");
  for (const completions of model.completions.values()) expect(completions).toBe(1);
}

/** The real thing, driven by the same steps. */
class RealFleet {
  readonly #database: Database;
  readonly #files: readonly ModelFile[];
  readonly #announced = new Set<string>();
  #instances: BatchCoordinatorReady[];

  constructor(database: Database, files: readonly ModelFile[]) {
    this.#database = database;
    this.#files = files;
    this.#instances = Array.from({ length: instanceCount }, (_, i) => this.#newInstance(i));
  }

  async apply(step: Step): Promise<boolean | undefined> {
    const file = "file" in step ? this.#files[step.file] : undefined;
    if ("file" in step && !file) return undefined;
    const instance = "instance" in step ? this.#instances[step.instance] : this.#instances[0];
    if (!instance) return undefined;
    if (file && "instance" in step) return this.#applyToFile(instance, step, file);
    if (file) return this.#announce(instance, file);
    if (step.kind === "expire") return this.#expire();
    if (step.kind === "retryFailed") return void (await instance.retryFailed({}));
    if (step.kind === "reconcile") return void (await instance.reconcileGaps({ samplingInterval: 1 }));
    const gap = await instance.getOldestPendingGap();
    return void (gap && (await instance.markGapPermanent(gap.gapStartTick)));
  }

  async classes(): Promise<string[]> {
    await this.#instances[0]?.reconcileGaps({ samplingInterval: 1 });
    const { ranges } = await accountForTicks(this.#database, "run-1", "Dummy", { samplingInterval: 1 });
    const classes: string[] = [];
    for (const { start, end, tickClass } of ranges) {
      for (let tick = start; tick <= end; tick++) {
        if (classes[tick] !== undefined) throw new Error(`tick ${tick} is ${classes[tick]} and ${tickClass}`);
        classes[tick] = tickClass;
      }
    }
    return classes;
  }

  async #applyToFile(instance: BatchCoordinatorReady, step: Step & { instance: number }, file: ModelFile) {
    switch (step.kind) {
      case "claim":
        if (!this.#announced.has(file.name)) return undefined;
        return outcome(instance.tryClaim(file.name, file.start, file.end), "BATCH_ALREADY_CLAIMED");
      case "complete":
        return outcome(instance.markCompleted(file.name), "CLAIM_LOST");
      case "fail":
        return outcome(instance.markFailed(file.name, "x"), "CLAIM_LOST");
      case "renew":
        return void (await instance.renewClaims());
      case "release":
        return void (await instance.releaseClaims([file.name]));
      default:
        this.#instances[step.instance] = this.#newInstance(step.instance);
        return undefined;
    }
  }

  async #announce(instance: BatchCoordinatorReady, file: ModelFile): Promise<undefined> {
    this.#announced.add(file.name);
    await instance.registerFiles([known(file)]);
  }

  async #expire(): Promise<undefined> {
    await this.#database
      .forRun("sim_run_1")
      .query("UPDATE sim.coordinator_batches SET lease_until = '-infinity' WHERE status = 'claimed'");
  }

  /** A crashed instance forgets what it held; in this test it comes back under its name. */
  #newInstance(index: number): BatchCoordinatorReady {
    const coordinator = createBatchCoordinator(this.#database, { instanceId: `instance-${index}` });
    coordinator.setSimulationRun("run-1");
    return coordinator.setIndexerClass("Dummy");
  }
}

const known = (file: ModelFile) => ({
  filename: file.name,
  storageKey: file.name,
  tickStart: file.start,
  tickEnd: file.end,
  bytes: 1,
  crc: 1,
});

async function outcome(
  operation: Promise<unknown>,
  refusal: "BATCH_ALREADY_CLAIMED" | "CLAIM_LOST",
): Promise<boolean> {
  return operation.then(
    () => true,
    (error: unknown) => {
      if (isTallymanError(error, refusal)) return false;
      throw error;
    },
  );
}

describe("any interleaving of announcements, claims, ends, crashes, expiries and late files", () => {
  it(`accounts for every tick once and completes nothing twice (${modelCases} cases on the model)`, () => {
    fc.assert(
      fc.property(filesArbitrary, stepsArbitrary, (files, steps) => {
        const model = new CoordinationModel(files);
        for (const step of steps) apply(model, step);
        expectAccounted(model);
      }),
      { numRuns: modelCases, seed: 4711 },
    );
  });

  const timeout = 60_000 + databaseCases * 500;
  it(`does the same on PostgreSQL as on the model (${databaseCases} cases)`, { timeout }, async () => {
    await using t = await setup();
    await fc.assert(
      fc.asyncProperty(filesArbitrary, stepsArbitrary, async (files, steps) => {
        await t.database.query("DROP SCHEMA IF EXISTS sim_run_1 CASCADE");
        const database = await t.connect({ poolMax: 2 });
        await ensureRunSchema(database, "run-1");
        const model = new CoordinationModel(files);
        const fleet = new RealFleet(database, files);
        for (const step of steps) expect([step, await fleet.apply(step)]).toEqual([step, apply(model, step)]);
        expectAccounted(model);
        expect(await fleet.classes()).toEqual(model.classes());
        await database.close();
      }),
      { numRuns: databaseCases, seed: 4711 },
    );
  });
});
