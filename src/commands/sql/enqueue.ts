import type { Executor } from "../../database/index.ts";

/** Rows of one call of the stored function; larger calls only cost memory. */
export const enqueueChunkMax = 5_000;

/**
 * Stores commands with their SENT events, in one statement whatever their number. `commands` is a JSON array
 * as one parameter: measured ahead of arrays through unnest and level with COPY, and it works on any client.
 *
 * @param batch the batch to add to; `isNew` when the same transaction made it, with its count
 */
export async function enqueueCommands(
  executor: Executor,
  domain: string,
  batch: { readonly batchId: string | null; readonly isNew: boolean },
  commands: string,
): Promise<void> {
  await executor.query("SELECT tallyman.command_bus_enqueue($1, $2, $3, $4::jsonb)", [
    domain,
    batch.batchId,
    batch.isNew,
    commands,
  ]);
}
