import { describe, expect, it } from "vitest";
import { setup, type TestContext } from "../testing/index.ts";
import { DatabaseRetryTracker, InMemoryRetryTracker, type RetryTracker } from "./index.ts";

describe.each<[string, (t: TestContext) => RetryTracker]>([
  ["DatabaseRetryTracker", (t) => new DatabaseRetryTracker(t.database)],
  ["InMemoryRetryTracker", () => new InMemoryRetryTracker()],
])("%s", (_name, open) => {
  it("counts each message by itself", async () => {
    await using t = await setup();
    const tracker = open(t);
    expect(await tracker.getRetryCount("a")).toBe(0);
    expect(await tracker.incrementAndGetRetryCount("a")).toBe(1);
    expect(await tracker.incrementAndGetRetryCount("a")).toBe(2);
    expect(await tracker.incrementAndGetRetryCount("b")).toBe(1);
    expect(await tracker.getRetryCount("a")).toBe(2);
  });

  it("loses no count when many consumers fail at once", async () => {
    await using t = await setup();
    const tracker = open(t);
    const counts = await Promise.all(
      Array.from({ length: 20 }, () => tracker.incrementAndGetRetryCount("a")),
    );
    expect(counts.toSorted((x, y) => x - y)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  });

  it("keeps the count of what was given up, and begins anew after a reset", async () => {
    await using t = await setup();
    const tracker = open(t);
    await tracker.incrementAndGetRetryCount("a");
    await tracker.markMovedToDlq("a");
    expect(await tracker.getRetryCount("a")).toBe(1);
    await tracker.resetRetryCount("a");
    expect(await tracker.getRetryCount("a")).toBe(0);
    expect(await tracker.incrementAndGetRetryCount("a")).toBe(1);
  });
});

it("InMemoryRetryTracker forgets the oldest beyond its bound", async () => {
  const tracker = new InMemoryRetryTracker(2);
  for (const id of ["a", "b", "c"]) await tracker.incrementAndGetRetryCount(id);
  expect(await tracker.getRetryCount("a")).toBe(0);
  expect(await tracker.getRetryCount("c")).toBe(1);
});
