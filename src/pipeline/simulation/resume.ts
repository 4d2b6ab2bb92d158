import { type SimulationMetadata, SimulationMetadataSchema } from "../../contracts/index.ts";
import { isTallymanError, TallymanError } from "../../errors/index.ts";
import { throwIfAborted } from "../../runtime/index.ts";
import { type BatchStorage, metadataKey } from "../../storage/index.ts";
import { SequenceSet } from "../sequence-set.ts";

/** What resuming reads. */
export type ResumeStorage = Pick<BatchStorage, "readMessage" | "listBatchFiles">;

const filesPerPage = 10_000;

/** The metadata that a run was begun with; undefined for a run that has none. */
export async function storedMetadata(
  storage: ResumeStorage,
  runId: string,
): Promise<SimulationMetadata | undefined> {
  try {
    return await storage.readMessage(metadataKey(runId), SimulationMetadataSchema);
  } catch (error) {
    if (isTallymanError(error, "STORAGE_FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** The ticks of a run that files hold already, wherever they lie: a producer that crashed may have left holes. */
export async function writtenTicks(
  storage: ResumeStorage,
  { runId, samplingInterval }: { readonly runId: string; readonly samplingInterval: number },
  signal: AbortSignal,
): Promise<SequenceSet> {
  const written = new SequenceSet(samplingInterval);
  for (let token: string | undefined; ; ) {
    throwIfAborted(signal);
    const page = await storage.listBatchFiles(`${runId}/`, token, filesPerPage);
    for (const { tickStart, tickEnd } of page.files) written.addRange(tickStart, tickEnd);
    if (!page.truncated) return written;
    token = page.nextToken;
  }
}

/**
 * A run goes on only as it began: another seed, size or interval would put two worlds into one run.
 *
 * @throws TallymanError RUN_MISMATCH
 */
export function refuseOtherWorld(stored: SimulationMetadata, given: SimulationMetadata): void {
  const [was, is] = [stored, given].map(({ initialSeed, samplingInterval, environment }) =>
    [
      `seed ${initialSeed}`,
      `sampling interval ${samplingInterval}`,
      `world ${environment?.shape.join(" × ")}`,
    ].join(", "),
  );
  if (was === is) return;
  throw new TallymanError(
    "RUN_MISMATCH",
    `Run '${stored.simulationRunId}' was begun with ${was}; it can't go on with ${is}.`,
    { details: { runId: stored.simulationRunId, was, is } },
  );
}
