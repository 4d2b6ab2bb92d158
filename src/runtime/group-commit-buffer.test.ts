import { setImmediate as settle } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../testing/index.ts";
import { type Deferred, deferred, GroupCommitBuffer } from "./index.ts";

interface Flush {
  readonly items: readonly string[];
  readonly result: Deferred<readonly (string | Error)[]>;
}

/** A buffer whose flushes the test ends by hand. */
function setup(options: { itemsMax?: number; delayMs?: number; pendingMax?: number } = {}) {
  const clock = new FakeClock();
  const flushes: Flush[] = [];
  const buffer = new GroupCommitBuffer<string, string>({
    flush: (items) => {
      const result = deferred<readonly (string | Error)[]>();
      flushes.push({ items, result });
      return result.promise;
    },
    itemsMax: 3,
    delayMs: 10,
    pendingMax: 6,
    clock,
    ...options,
  });
  const succeed = async (index: number) => {
    const flush = flushes[index];
    flush?.result.resolve(flush.items.map((item) => `${item}!`));
    await settle();
  };
  return { clock, flushes, buffer, succeed, groups: () => flushes.map(({ items }) => items.join("")) };
}

/** Adds one item per letter. */
function addAll(buffer: GroupCommitBuffer<string, string>, letters: string): Promise<string>[] {
  return [...letters].map((letter) => buffer.add(letter));
}

describe("GroupCommitBuffer", () => {
  it("flushes a full group at once", async () => {
    const { buffer, groups, succeed } = setup();
    const adds = addAll(buffer, "abc");
    expect(groups()).toEqual(["abc"]);
    await succeed(0);
    await expect(Promise.all(adds)).resolves.toEqual(["a!", "b!", "c!"]);
  });

  it("calls back once for each posted item, with its outcome or the error in its place", async () => {
    const { buffer, flushes } = setup({ itemsMax: 2 });
    const settled: unknown[] = [];
    for (const letter of "ab") buffer.post(letter, (outcome) => settled.push(outcome));
    const refused = new Error("refused");
    flushes[0]?.result.resolve(["a!", refused]);
    await settle();
    expect(settled).toEqual(["a!", refused]);
    await buffer.stop();
    expect(() => buffer.post("c", () => undefined)).toThrow(
      expect.objectContaining({ code: "INVALID_STATE" }),
    );
  });

  it("flushes a smaller group when its oldest item has waited long enough", async () => {
    const { buffer, clock, groups } = setup();
    void buffer.add("a");
    await clock.advance(6);
    void buffer.add("b");
    await clock.advance(3);
    expect(groups()).toEqual([]);
    await clock.advance(1);
    expect(groups()).toEqual(["ab"]);
    expect(clock.pendingSleeps).toBe(0);
  });

  it("gathers the next group while one commits, and flushes it at once when it is due", async () => {
    const { buffer, clock, groups, succeed } = setup({ itemsMax: 4 });
    void addAll(buffer, "abcd");
    void addAll(buffer, "ef");
    await clock.advance(100);
    expect(groups()).toEqual(["abcd"]);
    await succeed(0);
    expect(groups()).toEqual(["abcd", "ef"]);
  });

  it("lets a young group wait for the rest of its delay after a commit", async () => {
    const { buffer, clock, groups, succeed } = setup();
    void addAll(buffer, "abcd");
    await clock.advance(4);
    await succeed(0);
    await clock.advance(5);
    expect(groups()).toEqual(["abc"]);
    await clock.advance(1);
    expect(groups()).toEqual(["abc", "d"]);
  });

  it("makes add() wait while pendingMax items are held", async () => {
    const { buffer, groups, succeed } = setup({ pendingMax: 4 });
    void addAll(buffer, "abcdefg");
    expect(buffer.pending).toBe(4);
    await succeed(0);
    expect(groups()).toEqual(["abc", "def"]);
    expect(buffer.pending).toBe(4);
    await succeed(1);
    expect(buffer.pending).toBe(1);
  });

  it("gives each item its own outcome; an Error rejects that item alone", async () => {
    const { buffer, flushes } = setup();
    const adds = Promise.allSettled(addAll(buffer, "abc"));
    const stale = new Error("stale token");
    flushes[0]?.result.resolve(["1", stale, "3"]);
    expect(await adds).toEqual([
      { status: "fulfilled", value: "1" },
      { status: "rejected", reason: stale },
      { status: "fulfilled", value: "3" },
    ]);
  });

  it("rejects the items of a failed flush, and goes on with the next group", async () => {
    const { buffer, flushes, succeed } = setup();
    const adds = Promise.allSettled(addAll(buffer, "abcdef"));
    flushes[0]?.result.reject(new Error("connection lost"));
    await settle();
    await succeed(1);
    expect((await adds).map(({ status }) => status)).toEqual([
      ...new Array(3).fill("rejected"),
      ...new Array(3).fill("fulfilled"),
    ]);
  });

  it("rejects the group when the outcomes do not match the items", async () => {
    const { buffer, flushes } = setup({ itemsMax: 1 });
    const add = expect(buffer.add("a")).rejects.toThrow("The flush returned 0 outcomes for 1 items.");
    flushes[0]?.result.resolve([]);
    await add;
  });

  it("turns a flush that throws at once into the items' failure", async () => {
    const flush = () => {
      throw new Error("not even a promise");
    };
    const buffer = new GroupCommitBuffer({ flush, itemsMax: 1, delayMs: 0, pendingMax: 1 });
    await expect(buffer.add("a")).rejects.toThrow("not even a promise");
  });

  it("flushes on request, without the delay, and waits for what was added before", async () => {
    const { buffer, groups, succeed } = setup({ pendingMax: 3 });
    void addAll(buffer, "abcde");
    let flushed = false;
    const flushing = buffer.flush().then(() => {
      flushed = true;
    });
    await succeed(0);
    expect(groups()).toEqual(["abc", "de"]);
    expect(flushed).toBe(false);
    await succeed(1);
    await flushing;
  });

  it("on stop: flushes what is there, those waiting for room included, then refuses", async () => {
    const { buffer, clock, groups, succeed } = setup({ pendingMax: 3 });
    const adds = addAll(buffer, "abcde");
    const stops = [buffer.stop(), buffer.stop()];
    await expect(buffer.add("f")).rejects.toMatchObject({ code: "INVALID_STATE" });
    await succeed(0);
    await succeed(1);
    await Promise.all(stops);
    expect(groups()).toEqual(["abc", "de"]);
    await expect(Promise.all(adds)).resolves.toHaveLength(5);
    expect([buffer.pending, clock.pendingSleeps]).toEqual([0, 0]);
  });

  it("resolves stop() although the last flush failed: the failure is its items'", async () => {
    const { buffer, flushes } = setup();
    const add = expect(buffer.add("a")).rejects.toThrow("gone");
    const stopped = buffer[Symbol.asyncDispose]();
    flushes[0]?.result.reject(new Error("gone"));
    await add;
    await stopped;
  });

  it("withdraws an aborted item that is not being flushed, gathered or waiting", async () => {
    const { buffer, clock, groups } = setup({ itemsMax: 2, pendingMax: 2 });
    const gathered = new AbortController();
    const first = buffer.add("a", gathered.signal);
    gathered.abort();
    await expect(first).rejects.toMatchObject({ code: "ABORTED" });
    expect([buffer.pending, clock.pendingSleeps]).toEqual([0, 0]);
    void addAll(buffer, "bc");
    const waiting = new AbortController();
    const last = buffer.add("d", waiting.signal);
    waiting.abort();
    await expect(last).rejects.toMatchObject({ code: "ABORTED" });
    await expect(buffer.add("e", waiting.signal)).rejects.toMatchObject({ code: "ABORTED" });
    expect(groups()).toEqual(["bc"]);
  });

  it("reports the outcome of an item that was aborted after its flush began", async () => {
    const { buffer, succeed } = setup({ itemsMax: 1 });
    const controller = new AbortController();
    const add = buffer.add("a", controller.signal);
    controller.abort();
    await succeed(0);
    await expect(add).resolves.toBe("a!");
  });

  it.each([
    [{ itemsMax: 0 }, "itemsMax"],
    [{ delayMs: -1 }, "delayMs"],
    [{ itemsMax: 3, pendingMax: 2 }, "pendingMax"],
  ])("refuses %o", (options, name) => {
    expect(() => setup(options)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", details: { option: name } }),
    );
  });
});

type Step =
  | { readonly do: "add"; readonly fails: boolean }
  | { readonly do: "abort"; readonly nth: number }
  | { readonly do: "endFlush"; readonly fails: boolean }
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "flush" | "stop" };

const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant("add" as const), fails: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("abort" as const), nth: fc.nat(20) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("endFlush" as const), fails: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("flush" as const, "stop" as const) }) },
  ),
  { maxLength: 60 },
);

const sizes = fc
  .record({ itemsMax: fc.integer({ min: 1, max: 5 }), extra: fc.nat(7), delayMs: fc.nat(15) })
  .map(({ itemsMax, extra, delayMs }) => ({ itemsMax, delayMs, pendingMax: itemsMax + extra }));

interface Added {
  readonly id: number;
  readonly fails: boolean;
  readonly refused: boolean;
  readonly controller: AbortController;
  readonly settlements: string[];
}

/** Drives a buffer through any interleaving and keeps the books. */
class Interleaving {
  readonly clock = new FakeClock();
  readonly added: Added[] = [];
  readonly groups: (readonly Added[])[] = [];
  readonly failedGroups = new Set<readonly Added[]>();
  readonly buffer: GroupCommitBuffer<Added, number>;
  readonly #itemsMax: number;
  readonly #pendingMax: number;
  #running: Deferred<readonly (number | Error)[]> | undefined;
  #stopped = false;

  constructor(options: { itemsMax: number; delayMs: number; pendingMax: number }) {
    this.#itemsMax = options.itemsMax;
    this.#pendingMax = options.pendingMax;
    this.buffer = new GroupCommitBuffer({
      ...options,
      clock: this.clock,
      flush: (items) => this.#flush(items),
    });
  }

  #flush(items: readonly Added[]): Promise<readonly (number | Error)[]> {
    expect(this.#running).toBeUndefined();
    expect(items.length).toBeGreaterThan(0);
    expect(items.length).toBeLessThanOrEqual(this.#itemsMax);
    this.groups.push(items);
    this.#running = deferred();
    return this.#running.promise;
  }

  async take(step: Step): Promise<void> {
    if (step.do === "add") this.#add(step.fails);
    else if (step.do === "abort") this.added[step.nth]?.controller.abort();
    else if (step.do === "endFlush") this.#endFlush(step.fails);
    else if (step.do === "advance") await this.clock.advance(step.ms);
    else if (step.do === "flush") void this.buffer.flush();
    else void this.stop();
    expect(this.buffer.pending).toBeLessThanOrEqual(this.#pendingMax);
    await settle();
    expect(this.buffer.pending).toBeLessThanOrEqual(this.#pendingMax);
  }

  stop(): Promise<void> {
    this.#stopped = true;
    return this.buffer.stop();
  }

  /** Ends flushes until the buffer has nothing left. */
  async drain(): Promise<void> {
    const stopped = this.stop();
    for (let i = 0; this.#running && i <= this.added.length; i++) {
      this.#endFlush(false);
      await settle();
    }
    await stopped;
  }

  /** How an item should have ended, from the books alone. */
  expected(added: Added): string {
    const group = this.groups.find((items) => items.includes(added));
    if (added.refused) return "INVALID_STATE";
    if (!group) return added.controller.signal.aborted ? "ABORTED" : "lost";
    if (this.failedGroups.has(group)) return "flush failed";
    return added.fails ? "item failed" : `outcome ${added.id}`;
  }

  #add(fails: boolean): void {
    const controller = new AbortController();
    const added = {
      id: this.added.length,
      fails,
      refused: this.#stopped,
      controller,
      settlements: [] as string[],
    };
    this.added.push(added);
    this.buffer.add(added, controller.signal).then(
      (outcome) => added.settlements.push(`outcome ${outcome}`),
      (error) => added.settlements.push(error.code ?? error.message),
    );
  }

  #endFlush(fails: boolean): void {
    const running = this.#running;
    const group = this.groups.at(-1);
    if (!running || !group) return;
    this.#running = undefined;
    if (fails) this.failedGroups.add(group);
    if (fails) running.reject(new Error("flush failed"));
    else running.resolve(group.map((item) => (item.fails ? new Error("item failed") : item.id)));
  }
}

describe("GroupCommitBuffer under any interleaving of adds, aborts, failures, flushes and stop", () => {
  it("settles every add exactly once, keeps the order and its bounds", async () => {
    await fc.assert(
      fc.asyncProperty(sizes, steps, async (options, taken) => {
        const run = new Interleaving(options);
        for (const step of taken) await run.take(step as Step);
        await run.drain();
        await settle();
        for (const added of run.added) expect(added.settlements).toEqual([run.expected(added)]);
        const flushed = run.groups.flat().map(({ id }) => id);
        expect(flushed).toEqual([...new Set(flushed)].sort((a, b) => a - b));
        expect([run.buffer.pending, run.clock.pendingSleeps]).toEqual([0, 0]);
      }),
      { numRuns: 300 },
    );
  });
});
