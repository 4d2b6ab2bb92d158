import type { SimulationMetadata } from "../contracts/index.ts";
import { TallymanError } from "../errors/index.ts";

/**
 * Every indexer of a run believes its metadata: what can't be true must not get there.
 *
 * @throws TallymanError METADATA_INVALID
 */
export function refuseBadMetadata(runId: string, metadata: SimulationMetadata): void {
  const { simulationRunId, samplingInterval = 1, declaredEndTick = 0n } = metadata;
  const faults = [
    simulationRunId !== "" && simulationRunId !== runId && "simulationRunId names another run",
    samplingInterval < 1 && `samplingInterval is ${samplingInterval}`,
    (declaredEndTick < 0n || declaredEndTick > Number.MAX_SAFE_INTEGER) &&
      `declaredEndTick is ${declaredEndTick}`,
  ];
  const fault = faults.find((one) => one !== false);
  if (fault === undefined) return;
  throw new TallymanError("METADATA_INVALID", `This can't be the metadata of run ${runId}: ${fault}.`, {
    details: { runId, fault },
  });
}
