import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { range, runId } from "../../../tests/kit/pipeline.ts";
import { fast, offerAll, plant, tick } from "../../../tests/kit/producer.ts";
import { CellSchema, CellState, type TickData } from "../../contracts/index.ts";
import { FakeClock, setup } from "../../testing/index.ts";
import { PersistenceService, TickQueue } from "../index.ts";

describe("PersistenceService writes", () => {
  it("files of maxBatchSize ticks, then announces each with its range, size and checksum", async () => {
    await using t = await setup();
    const { queue, service, storage, reader, files } = await plant(t);
    await offerAll(
      queue,
      range(0, 20).map((n) => n * 10),
      10,
    );
    await service({ maxBatchSize: 10 }).start();
    await queue.whenEmpty();
    expect(await files()).toEqual([
      [0, 90],
      [100, 190],
    ]);
    const messages = await reader.pollMany(10, 20_000);
    const [first] = messages;
    if (!first) throw new Error("nothing was announced");
    const file = await storage.describeBatch(first.payload.storageKey);
    expect(first.payload).toMatchObject({
      simulationRunId: runId,
      storageKey: file.key,
      tickStart: 0n,
      tickEnd: 90n,
      bytes: BigInt(file.bytes),
      crc: file.crc,
    });
    expect([first.key, first.runId]).toEqual([file.key, runId]);
  });

  it("a smaller file when its oldest tick has waited batchTimeoutMs", async () => {
    await using t = await setup();
    const { storage, topic, service, files } = await plant(t);
    const clock = new FakeClock();
    const queue = new TickQueue({}, clock);
    await service({ maxBatchSize: 10, batchTimeoutMs: 1_000 }, { queue, storage, topic, clock }).start();
    await offerAll(queue, [0, 1, 2]);
    await clock.advance(999);
    expect(await files()).toEqual([]);
    await clock.advance(1);
    await queue.whenEmpty();
    expect(await files()).toEqual([[0, 2]]);
  });

  it("and announces what is queued when it is stopped", async () => {
    await using t = await setup();
    const { queue, service, files, announced } = await plant(t);
    const persistence = service({ maxBatchSize: 10, batchTimeoutMs: 60_000 });
    await persistence.start();
    await offerAll(queue, range(0, 25));
    await persistence.stop();
    expect(persistence.state).toBe("STOPPED");
    expect(await files()).toEqual([
      [0, 9],
      [10, 19],
      [20, 24],
    ]);
    expect(await announced()).toEqual(await files());
    expect(persistence.getMetrics()).toMatchObject({
      batches_written: 3,
      ticks_written: 25,
      notifications_sent: 3,
    });
  });

  it("until the queue is closed and drained, and then stops by itself", async () => {
    await using t = await setup();
    const { queue, service, announced } = await plant(t);
    const persistence = service({ maxBatchSize: 10, batchTimeoutMs: 60_000 });
    await persistence.start();
    await offerAll(queue, range(0, 5));
    queue.close();
    await expect.poll(() => persistence.state).toBe("STOPPED");
    expect(await announced()).toEqual([[0, 4]]);
  });

  it("no file across a hole: the range in a name is what the file holds", async () => {
    await using t = await setup();
    const { queue, service, files } = await plant(t);
    await offerAll(queue, [0, 20, 10, 50, 60, 40], 10);
    await service().start();
    queue.close();
    await queue.whenEmpty();
    expect(await files()).toEqual([
      [0, 20],
      [40, 60],
    ]);
  });

  it("ticks of two runs to files of their own", async () => {
    await using t = await setup();
    const { queue, service, files, announced, reader } = await plant(t);
    for (const number of [0, 1]) {
      for (const run of ["run-1", "run-2"]) await queue.offer(tick(number, { simulationRunId: run }));
    }
    const persistence = service();
    await persistence.start();
    await persistence.stop();
    expect([await files("run-1"), await files("run-2")]).toEqual([[[0, 1]], [[0, 1]]]);
    expect(await announced()).toHaveLength(1);
    reader.setSimulationRun("run-2");
    expect(await announced()).toHaveLength(1);
  });
});

describe("PersistenceServices that compete", () => {
  it("write files that do not overlap and together hold every tick once", async () => {
    await using t = await setup();
    const { storage, topic, written, files, announced } = await plant(t);
    const queue = new TickQueue({ recordsMax: 50 });
    const services = [1, 2, 3].map((number) =>
      t.use(
        new PersistenceService(
          `persistence-${number}`,
          { queue, storage, topic },
          { maxBatchSize: 7 + number },
        ),
      ),
    );
    for (const service of services) await service.start();
    await offerAll(queue, range(0, 500));
    queue.close();
    await queue.whenEmpty();
    await Promise.all(services.map((service) => service.stop()));
    expect(await written()).toEqual(range(0, 500));
    const ranges = await files();
    ranges.slice(1).forEach(([start], index) => {
      expect(start).toBe((ranges[index]?.[1] ?? 0) + 1);
    });
    expect((await announced()).toSorted(([a = 0], [b = 0]) => a - b)).toEqual(ranges);
    expect(
      services.filter((service) => (service.getMetrics().batches_written ?? 0) > 0).length,
    ).toBeGreaterThan(1);
  });
});

describe("PersistenceService skips", () => {
  it("ticks that were written before, also when a batch holds nothing else", async () => {
    await using t = await setup();
    const { queue, service, announced, files } = await plant(t);
    const persistence = service({ maxBatchSize: 3 });
    await offerAll(queue, [0, 1, 2, 0, 1, 2, 2, 1, 0, 3, 4, 3]);
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(await files()).toEqual([
      [0, 2],
      [3, 4],
    ]);
    expect(await announced()).toEqual(await files());
    expect(persistence.getMetrics()).toMatchObject({ duplicate_ticks: 7, batches_written: 2 });
  });

  const cell = create(CellSchema, { cellId: 1, state: CellState.FOOD });
  const bad: readonly [string, TickData][] = [
    ["of another run", tick(7, { simulationRunId: "run-2" })],
    ["of a run without a valid id", tick(7, { simulationRunId: "../run" })],
    ["with a negative number", tick(-10)],
    ["off the sampling grid", tick(7)],
    ["with a cell of no known state", tick(0, { cells: [create(CellSchema, { cellId: 1 })] })],
    ["with a cell outside every grid", tick(0, { cells: [{ ...cell, x: -1 }] })],
    ["with a cell twice", tick(0, { cells: [cell, cell] })],
    ["that can't be encoded", tick(0, { capturedAtMs: 2n ** 70n })],
  ];

  it.each(bad)("to the dead-letter topic a tick %s, and writes its neighbours", async (_, badTick) => {
    await using t = await setup();
    const { queue, service, written, letters } = await plant(t);
    const persistence = service({ ...fast, runId: badTick.simulationRunId === "run-2" ? runId : undefined });
    await queue.offer(badTick, { samplingInterval: 10 });
    await offerAll(queue, [10, 20, 30], 10);
    queue.close();
    await persistence.start();
    await queue.whenEmpty();
    await persistence.stop();
    expect(persistence.state).toBe("STOPPED");
    expect(await written()).toEqual([10, 20, 30]);
    expect(await letters.pollMany(10, 0)).toHaveLength(1);
    expect(persistence.getMetrics()).toMatchObject({ ticks_dead_lettered: 1, ticks_written: 3 });
  });

  it("and logs a bad tick when there is no dead-letter topic; a good one with its number may follow", async () => {
    await using t = await setup();
    const { queue, service, written } = await plant(t);
    t.logs.expectLog({
      logger: "persistence",
      level: "error",
      message: "Dropped bad tick 0: cell 1 is invalid*",
    });
    const persistence = service({ maxBatchSize: 1 }, { deadLetters: undefined });
    await queue.offer(tick(0, { cells: [create(CellSchema, { cellId: 1 })] }));
    await queue.offer(tick(0));
    await persistence.start();
    await queue.whenEmpty();
    expect(await written()).toEqual([0]);
  });
});
