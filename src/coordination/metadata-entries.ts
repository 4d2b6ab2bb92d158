import { create } from "@bufbuild/protobuf";
import {
  EnvironmentConfigSchema,
  type SimulationMetadata,
  SimulationMetadataSchema,
} from "../contracts/index.ts";
import type { MetadataEntries } from "./sql/metadata.ts";

/** Entry of the environment's shape. */
interface EnvironmentEntry {
  readonly dimensions: number;
  readonly shape: readonly number[];
  readonly toroidal: readonly boolean[];
}

/** Entry of everything else. 64-bit values are text: JSON's numbers would round a seed. */
interface SimulationEntry {
  readonly runId: string;
  readonly startTime: string;
  readonly seed: string;
  readonly samplingInterval?: number;
  readonly declaredEndTick?: string;
}

/** The metadata as the two entries `environment` and `simulation_info`. */
export function toEntries(metadata: SimulationMetadata): MetadataEntries {
  const { dimensions = 0, shape = [], toroidal = [] } = metadata.environment ?? {};
  const simulation: SimulationEntry = {
    runId: metadata.simulationRunId,
    startTime: String(metadata.startTimeMs),
    seed: String(metadata.initialSeed),
    samplingInterval: metadata.samplingInterval ?? 1,
    ...(metadata.declaredEndTick !== undefined && { declaredEndTick: String(metadata.declaredEndTick) }),
  };
  return { environment: { dimensions, shape, toroidal }, simulation_info: simulation };
}

/** The way back; undefined while the entries are not there. A sampling interval that is absent is 1. */
export function fromEntries(entries: MetadataEntries): SimulationMetadata | undefined {
  const environment = entries.environment as EnvironmentEntry | undefined;
  const simulation = entries.simulation_info as SimulationEntry | undefined;
  if (!environment || !simulation) return undefined;
  return create(SimulationMetadataSchema, {
    simulationRunId: simulation.runId,
    startTimeMs: BigInt(simulation.startTime),
    initialSeed: BigInt(simulation.seed),
    samplingInterval: simulation.samplingInterval ?? 1,
    environment: create(EnvironmentConfigSchema, {
      dimensions: environment.dimensions,
      shape: [...environment.shape],
      toroidal: [...environment.toroidal],
    }),
    ...(simulation.declaredEndTick !== undefined && { declaredEndTick: BigInt(simulation.declaredEndTick) }),
  });
}
