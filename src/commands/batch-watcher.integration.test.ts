import { expect, it } from "vitest";
import { commands, openBus } from "../../tests/kit/commands.ts";
import { setup } from "../testing/index.ts";
import { BatchWatcher } from "./batch-watcher.ts";
import { Batches } from "./batches.ts";
import { CommandSchemas } from "./command-schemas.ts";
import { Hints } from "./hints.ts";
import { DuplicateCommandError } from "./index.ts";
import { Preparation } from "./preparation.ts";

it("forgets the callback of a batch that could not be created", async () => {
  await using t = await setup();
  const commandId = await openBus(t).send("d", "T", { data: {} });
  const { database } = t;
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
  const onComplete = () => expect.unreachable("the batch does not exist");
  const taken = batches.create("d", commands(1, { commandId }), { onComplete });
  await expect(taken).rejects.toBeInstanceOf(DuplicateCommandError);
  expect(watcher.size).toBe(0);
  await watcher.stop();
});
