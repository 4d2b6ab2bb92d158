import { expect, it } from "vitest";
import { commands, openBus, startWorker } from "../../tests/kit/commands.ts";
import type { Database } from "../database/index.ts";
import { deferred } from "../runtime/index.ts";
import { setup } from "../testing/index.ts";
import { BatchWatcher } from "./batch-watcher.ts";
import { Batches } from "./batches.ts";
import { CommandSchemas } from "./command-schemas.ts";
import { Hints } from "./hints.ts";
import { type BatchMetadata, DuplicateCommandError } from "./index.ts";
import { Preparation } from "./preparation.ts";

it("forgets the callback of a batch that could not be created", async () => {
  await using t = await setup();
  const commandId = await openBus(t).send("d", "T", { data: {} });
  const { batches, watcher } = watchedBatches(t.database);
  const onComplete = () => expect.unreachable("the batch does not exist");
  const taken = batches.create("d", commands(1, { commandId }), { onComplete });
  await expect(taken).rejects.toBeInstanceOf(DuplicateCommandError);
  expect(watcher.size).toBe(0);
  await watcher.stop();
});

it("calls back for a batch whose first transaction was rolled back and tried again", async () => {
  await using t = await setup();
  await startWorker(t, openBus(t), { T: () => 1 });
  const twice: Pick<Database, "query" | "transaction"> = {
    query: (text, values) => t.database.query(text, values),
    transaction: async (work) => {
      const lost = new Error("the connection is lost");
      const first = t.database.transaction(async (tx) => {
        await work(tx);
        throw lost;
      });
      await expect(first).rejects.toBe(lost);
      watcher.start();
      await expect.poll(() => watcher.size, { timeout: 20_000 }).toBe(0);
      return t.database.transaction(work);
    },
  };
  const { batches, watcher } = watchedBatches(Object.assign(Object.create(t.database), twice));
  const completed = deferred<BatchMetadata>();
  await batches.create("d", commands(1), { onComplete: completed.resolve });
  expect(await completed.promise).toMatchObject({ status: "COMPLETED" });
  await watcher.stop();
});

/** The batch half of a bus, with its watcher in the open. */
function watchedBatches(database: Database): { batches: Batches; watcher: BatchWatcher } {
  const hints = new Hints(database);
  const watcher = new BatchWatcher(database, hints);
  const payloadBytesMax = 1_000;
  const schemas = new CommandSchemas();
  const batches = new Batches({
    database,
    hints,
    watcher,
    payloadBytesMax,
    prepare: (domain, list) => new Preparation(domain, list, { schemas, payloadBytesMax }),
  });
  return { batches, watcher };
}
