import type { Transaction } from "../database/index.ts";
import { unqueueCommand } from "./sql/command.ts";
import { settleCommands } from "./sql/settle.ts";

/**
 * Cancels a command that waits in the queue.
 *
 * @returns the batches that this completed; undefined when the command does not wait there
 */
export async function cancelWaiting(
  tx: Transaction,
  domain: string,
  commandId: string,
  details: Readonly<Record<string, unknown>>,
): Promise<readonly string[] | undefined> {
  const id = await unqueueCommand(tx, domain, commandId);
  if (id === undefined) return undefined;
  const settlement = { id, outcome: "CANCELED", event: "OPERATOR_CANCEL" } as const;
  const { completedBatches } = await settleCommands(tx, [settlement], { from: "PENDING", details });
  return completedBatches;
}
