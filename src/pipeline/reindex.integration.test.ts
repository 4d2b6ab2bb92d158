import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  createSeen,
  lagOf,
  ledger,
  openPipeline,
  quick,
  Recorder,
  range,
  runId,
  seenTicks,
  started,
  until,
} from "../../tests/kit/pipeline.ts";
import { BatchInfoSchema } from "../contracts/index.ts";
import { DatabaseIdempotencyTracker } from "../coordination/index.ts";
import { deferred } from "../runtime/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import { type ComponentType, reindex } from "./index.ts";

/** Has its table emptied. */
class Owner extends Recorder {
  protected override readonly tables = ["seen"];
}

/** Has no ledger. */
class Unfenced extends Owner {
  protected override getRequiredComponents() {
    return new Set<ComponentType>(["METADATA", "BUFFERING"]);
  }
}

const scope = { runId, indexerClass: "Owner" };

/** Statements that wait for a lock. */
async function waiting(t: TestContext): Promise<number> {
  const { rows } = await t.database.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows.length;
}

describe("reindex", () => {
  it("forgets a file that is claimed and flushed while it waits for another's flush", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    const options = { ...quick, source: "discovery" } as const;
    const slow = new Owner("slow", await pipeline.resources("owner"), options);
    slow.hold = deferred();
    await pipeline.write(0, 10);
    await started(t, slow);
    await until("it is inside its flush", () => slow.isHeld);

    const reindexing = reindex(t.database, pipeline.topics, scope);
    await until("the reindex waits for the flush", async () => (await waiting(t)) > 0);
    const other = new Owner("other", await pipeline.resources("owner"), options);
    await pipeline.write(10, 10);
    await started(t, other);
    await until("the other has flushed its file, or waits for the reindex", async () => {
      return other.getMetrics().batches_processed === 1 || (await waiting(t)) > 1;
    });
    slow.hold.resolve();
    await reindexing;
    const done = { 0: "completed 10", 10: "completed 10" };
    await until("both are indexed again", async () => {
      return JSON.stringify(await ledger(t, "Owner")) === JSON.stringify(done);
    });
    expect(await seenTicks(t)).toEqual(range(0, 20));
  });

  it("finds again what a flush marks as processed while it waits for that flush", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    const { storage, database, topic } = await pipeline.resources("unfenced");
    const reindexed = deferred();
    const idempotency = new DatabaseIdempotencyTracker(database);
    const { markProcessed } = idempotency;
    idempotency.markProcessed = async (indexerClass, batchId, options) => {
      if (!options?.tx) await reindexed.promise; // A mark of its own may come as late as it likes.
      await markProcessed.call(idempotency, indexerClass, batchId, options);
    };
    const resources = { storage, database, topic, idempotency };
    const indexer = new Unfenced("unfenced", resources, { ...quick, enableIdempotency: true });
    indexer.hold = deferred();
    await pipeline.send(0, 10);
    await started(t, indexer);
    await until("it is inside its flush", () => indexer.isHeld);

    const own = { runId, indexerClass: "Unfenced", topic: "batch-topic" };
    const reindexing = reindex(database, pipeline.topics, own);
    await until("the reindex waits for the flush", async () => (await waiting(t)) > 0);
    indexer.hold.resolve();
    await reindexing;
    reindexed.resolve();
    await until("its announcement is settled again", async () => {
      return (await lagOf(pipeline.topics, "unfenced")) === 0;
    });
    expect(await seenTicks(t)).toEqual(range(0, 10));
  });

  it("lets the class begin anew in another group, which is refused before", async () => {
    await using t = await setup();
    t.logs.expectLog({
      logger: "moved",
      level: "error",
      message: "Failed: Owner with group 'b' would share its tables with group 'a'. *",
    });
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    await pipeline.send(0, 10);
    const first = await started(t, new Owner("first", await pipeline.resources("a"), quick));
    await until("it is done", () => first.getMetrics().batches_processed === 1);
    await first.stop();
    const moved = await started(t, new Owner("moved", await pipeline.resources("b"), quick));
    await until("it is refused", () => moved.state === "ERROR");

    await reindex(t.database, pipeline.topics, scope);
    await moved.start();
    await until("it is done", () => moved.getMetrics().batches_processed === 1);
    expect(await seenTicks(t)).toEqual(range(0, 10));
  });

  it("refuses to empty what nothing would bring back, and moves the group in this run alone", async () => {
    await using t = await setup();
    const pipeline = await openPipeline(t);
    await pipeline.writeMetadata();
    await createSeen(t);
    const { storage, database, topic } = await pipeline.resources("unfenced");
    const elsewhere = await pipeline.topics.writer(BatchInfoSchema, { topic: "batch-topic", runId: "run-2" });
    await elsewhere.send(create(BatchInfoSchema));
    const reader = await pipeline.reader("unfenced", { runId: "run-2" });
    for (const message of await reader.pollMany(1, 1_000)) await reader.ack(message);
    const indexer = await started(t, new Unfenced("unfenced", { storage, database, topic }, quick));
    await pipeline.send(0, 10);
    await until("it is done", async () => (await lagOf(pipeline.topics, "unfenced")) === 0);

    const own = { ...scope, indexerClass: "Unfenced" };
    await expect(reindex(t.database, pipeline.topics, own)).rejects.toThrow("name the topic");
    expect(await seenTicks(t)).toEqual(range(0, 10));
    const cutOff = Object.assign(Object.create(pipeline.topics), {
      seekGroup: () => Promise.reject(new Error("cut off")),
    });
    const interrupted = reindex(t.database, cutOff, { ...own, topic: "batch-topic" });
    await expect(interrupted).rejects.toThrow("cut off");
    // Repeated, it does what is left.
    await reindex(t.database, pipeline.topics, { ...own, topic: "batch-topic" });
    await until("it is done again", () => indexer.getMetrics().batches_processed === 2);
    expect(await seenTicks(t)).toEqual(range(0, 10));
    expect(await reader.poll(0), "the other run's announcement").toBeUndefined();

    const again = reindex(t.database, pipeline.topics, { ...own, topic: "batch-topic" });
    await expect(again).rejects.toThrow("its group is not known");
    expect(await seenTicks(t)).toEqual(range(0, 10));
  });
});
