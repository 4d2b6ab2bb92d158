import type { CallerClient, Database, Transaction } from "../database/index.ts";
import { type EnqueueTarget, enqueue, enqueueChunk } from "./enqueue.ts";
import type { Hints } from "./hints.ts";
import type { Preparation } from "./preparation.ts";
import { enqueueChunkMax } from "./sql/enqueue.ts";

/**
 * Stores all commands or none, in the caller's transaction or one of their own, and hints that there are some.
 * What fits into one statement needs no transaction around it.
 */
export async function storeCommands(
  { database, hints }: { readonly database: Database; readonly hints: Hints },
  target: EnqueueTarget,
  preparation: Preparation,
  caller?: Transaction | CallerClient,
): Promise<void> {
  const { domain, size } = preparation;
  if (caller) {
    const tx = database.join(caller);
    await preparation.finish();
    await enqueue(tx, target, preparation);
    await hints.commandsReady(domain, tx);
    return;
  }
  if (size <= enqueueChunkMax) await preparation.finish();
  if (size <= enqueueChunkMax && preparation.isOneChunk)
    for await (const chunk of preparation.chunks()) await enqueueChunk(database, domain, target, chunk);
  else await database.transaction((tx) => enqueue(tx, target, preparation));
  void hints.commandsReady(domain);
}
