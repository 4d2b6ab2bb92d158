import { describe, expect, it } from "vitest";
import {
  createSeen,
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
import { deferred } from "../runtime/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import { reindex } from "./index.ts";

/** Has its table emptied. */
class Owner extends Recorder {
  protected override readonly tables = ["seen"];
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
});
