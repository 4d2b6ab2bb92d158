import { setImmediate as settle } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../testing/index.ts";
import { type QueuedBatch, RecordQueue, type RecordQueueOptions, type TakeOptions } from "../index.ts";

interface Item {
  readonly run: string;
  readonly n: number;
  readonly bytes: number;
}

const facts = {
  runIdOf: ({ run }: Item) => run,
  sequenceOf: ({ n }: Item) => n,
  bytesOf: ({ bytes }: Item) => bytes,
};

function queueOf(options: Partial<RecordQueueOptions> = {}, clock = new FakeClock()): RecordQueue<Item> {
  return new RecordQueue(facts, options, clock);
}

function item(n: number, more: Partial<Item> = {}): Item {
  return { run: "run-1", n, bytes: 1, ...more };
}

const now: TakeOptions = { recordsMax: 100, batchTimeoutMs: 0, waitMs: 0 };

function numbers(batch: QueuedBatch<Item> | undefined): number[] | undefined {
  return batch?.records.map(({ n }) => n);
}

async function offerAll(queue: RecordQueue<Item>, ...items: readonly number[]): Promise<void> {
  for (const n of items) await queue.offer(item(n));
}

describe("RecordQueue: batches", () => {
  it("hands out a batch as soon as it is full, and a smaller one when its oldest record waited", async () => {
    const clock = new FakeClock();
    const queue = queueOf({}, clock);
    const taking = queue.take({ recordsMax: 3, batchTimeoutMs: 1_000 });
    await offerAll(queue, 0, 1, 2, 3);
    expect(numbers(await taking)).toEqual([0, 1, 2]);

    let rest: number[] | undefined;
    void queue.take({ recordsMax: 3, batchTimeoutMs: 1_000 }).then((batch) => {
      rest = numbers(batch);
    });
    await clock.advance(999);
    expect(rest).toBeUndefined();
    await clock.advance(1);
    expect(rest).toEqual([3]);
  });

  it("returns nothing when waitMs passed, and ends a wait that is aborted", async () => {
    const clock = new FakeClock();
    const queue = queueOf({}, clock);
    const controller = new AbortController();
    const taking = queue.take({ recordsMax: 3, batchTimeoutMs: 1_000, waitMs: 50 });
    const aborted = queue.take({ recordsMax: 3, batchTimeoutMs: 1_000 }, controller.signal);
    await clock.advance(50);
    expect(await taking).toBeUndefined();
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
  });

  it("never mixes runs, and serves the run that waited longest", async () => {
    const queue = queueOf();
    for (const [run, n] of [
      ["b", 0],
      ["a", 0],
      ["b", 1],
      ["a", 1],
    ] as const)
      await queue.offer(item(n, { run }));
    const first = await queue.take(now);
    const second = await queue.take(now);
    expect([first?.runId, numbers(first)]).toEqual(["b", [0, 1]]);
    expect([second?.runId, numbers(second)]).toEqual(["a", [0, 1]]);
  });

  it("refuses two sampling intervals for one run", async () => {
    const queue = queueOf();
    await queue.offer(item(0), { samplingInterval: 10 });
    await expect(queue.offer(item(5), { samplingInterval: 5 })).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  });
});

describe("RecordQueue: bounds", () => {
  it.each([
    ["records", { recordsMax: 2 }],
    ["bytes", { bytesMax: 2 }],
  ])("makes offers wait at its bound of %s until records are settled, not only taken", async (_, options) => {
    const queue = queueOf(options);
    await offerAll(queue, 0, 1);
    let admitted = false;
    const offering = queue.offer(item(2)).then(() => {
      admitted = true;
    });
    const batch = await queue.take(now);
    await settle();
    expect([numbers(batch), admitted, queue.size]).toEqual([[0, 1], false, 2]);
    batch?.settle(batch.records);
    await offering;
    expect(queue.size).toBe(1);
  });

  it("hands out what there is when producers wait, though the batch is not full", async () => {
    const queue = queueOf({ recordsMax: 2 });
    const taking = queue.take({ recordsMax: 100, batchTimeoutMs: 60_000 });
    await offerAll(queue, 0, 1);
    void queue.offer(item(2)).catch(() => {});
    expect(numbers(await taking)).toEqual([0, 1]);
  });

  it("admits a record larger than the whole bound alone", async () => {
    const queue = queueOf({ bytesMax: 10 });
    await queue.offer(item(0, { bytes: 50 }));
    expect(queue.bytes).toBe(50);
  });

  it("admits waiting offers in their order, and lets an aborted one go", async () => {
    const queue = queueOf({ recordsMax: 1 });
    await queue.offer(item(0));
    const controller = new AbortController();
    const aborted = queue.offer(item(1), { signal: controller.signal });
    const patient = queue.offer(item(2));
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
    const batch = await queue.take(now);
    batch?.settle(batch.records);
    await patient;
    expect(numbers(await queue.take(now))).toEqual([2]);
  });
});

describe("RecordQueue: nothing lost, nothing twice", () => {
  it("puts what was not settled back to the front", async () => {
    const queue = queueOf();
    await offerAll(queue, 0, 1, 2, 3);
    {
      using batch = await queue.take({ ...now, recordsMax: 3 });
      batch?.settle(batch.records.slice(0, 1));
    }
    expect(numbers(await queue.take(now))).toEqual([1, 2, 3]);
  });

  it("hands a number out once, unless it was rejected", async () => {
    const queue = queueOf();
    await offerAll(queue, 0, 1, 1, 2);
    const first = await queue.take(now);
    expect([numbers(first), first?.duplicates]).toEqual([[0, 1, 2], 1]);
    first?.reject(first.records.slice(2));
    first?.settle(first.records);
    await offerAll(queue, 0, 1, 2);
    const again = await queue.take(now);
    expect([numbers(again), again?.duplicates]).toEqual([[2], 2]);
    expect(queue.size).toBe(1);
  });

  it("frees one bad object that was offered twice", async () => {
    const queue = queueOf();
    const bad = item(-1);
    await queue.offer(bad);
    await queue.offer(bad);
    const batch = await queue.take(now);
    batch?.reject(batch.records);
    expect([queue.size, queue.bytes]).toEqual([0, 0]);
  });

  it("keeps every record through any interleaving of takes, failures and settlements", async () => {
    const move = fc.constantFrom("offer", "take", "settle", "fail", "reject" as const);
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 80 }), async (moves) => {
        const queue = queueOf({ recordsMax: 1_000 });
        const held: QueuedBatch<Item>[] = [];
        const done: number[] = [];
        let offered = 0;
        for (const kind of moves) {
          if (kind === "offer") await queue.offer(item(offered++));
          else if (kind === "take") {
            const batch = await queue.take({ ...now, recordsMax: 3 });
            if (batch) held.push(batch);
          } else {
            const batch = held.shift();
            const records = kind === "fail" ? [] : (batch?.records ?? []);
            done.push(...records.map(({ n }) => n));
            if (kind === "settle") batch?.settle(records);
            else batch?.reject(records);
            batch?.[Symbol.dispose]();
          }
        }
        for (const batch of held) batch[Symbol.dispose]();
        const rest: number[] = [];
        for (let batch = await queue.take(now); batch; batch = await queue.take(now))
          rest.push(...(numbers(batch) ?? []));
        expect([...done, ...rest].sort((a, b) => a - b)).toEqual(
          Array.from({ length: offered }, (_, n) => n),
        );
        expect(queue.size).toBe(rest.length);
      }),
    );
  });
});

describe("RecordQueue: the end", () => {
  it("hands out what is left at once, then says that it is drained", async () => {
    const queue = queueOf();
    const patient = { recordsMax: 100, batchTimeoutMs: 60_000 };
    const taking = queue.take(patient);
    await offerAll(queue, 0);
    queue.close();
    const batch = await taking;
    expect([numbers(batch), queue.isDrained]).toEqual([[0], false]);
    const last = queue.take(patient);
    batch?.settle(batch.records);
    expect([await last, queue.isDrained]).toEqual([undefined, true]);
  });

  it("refuses offers, those that wait too", async () => {
    const queue = queueOf({ recordsMax: 1 });
    await offerAll(queue, 0);
    const waiting = queue.offer(item(1));
    queue.close();
    await expect(waiting).rejects.toMatchObject({ code: "INVALID_STATE" });
    await expect(queue.offer(item(2))).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  it("tells when nothing waits and nothing is being written", async () => {
    const queue = queueOf();
    await queue.whenEmpty();
    await offerAll(queue, 0);
    let isEmpty = false;
    const emptied = queue.whenEmpty().then(() => {
      isEmpty = true;
    });
    const batch = await queue.take(now);
    await settle();
    expect(isEmpty).toBe(false);
    batch?.settle(batch.records);
    await emptied;
    const controller = new AbortController();
    await offerAll(queue, 1);
    const aborted = queue.whenEmpty(controller.signal);
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
  });
});
