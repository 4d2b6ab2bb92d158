import { describe, expect, it } from "vitest";
import { InMemoryIdempotencyTracker } from "../../coordination/index.ts";
import type { Transaction } from "../../database/index.ts";
import { IdempotencyComponent } from "./idempotency-component.ts";

const broken = {
  isProcessed: () => Promise.reject(new Error("no tracker")),
  markProcessed: () => Promise.reject(new Error("no tracker")),
};

describe("IdempotencyComponent", () => {
  it("remembers what was processed, for its class alone", async () => {
    const tracker = new InMemoryIdempotencyTracker();
    const component = new IdempotencyComponent(tracker, "Dummy");
    expect(await component.isProcessed("a")).toBe(false);
    await component.markProcessed("a");
    expect(await component.isProcessed("a")).toBe(true);
    expect(await new IdempotencyComponent(tracker, "Other").isProcessed("a")).toBe(false);
  });

  it("does not mark in a transaction that the tracker would outlive", async () => {
    const component = new IdempotencyComponent(new InMemoryIdempotencyTracker(), "Dummy");
    await component.markWith({} as Transaction, ["a"]);
    expect(await component.isProcessed("a")).toBe(false);
  });

  it("takes a batch for unprocessed when the tracker fails, and does not fail itself", async () => {
    const component = new IdempotencyComponent(broken, "Dummy");
    expect(await component.isProcessed("a")).toBe(false);
    await component.markProcessed("a");
  });

  it("refuses to work without a tracker", () => {
    expect(() => new IdempotencyComponent(undefined as never, "Dummy")).toThrow(/tracker must be given/);
  });

  it.each(["", "  "])("refuses the class name '%s'", (indexerClass) => {
    expect(() => new IdempotencyComponent(new InMemoryIdempotencyTracker(), indexerClass)).toThrow(/name/);
  });
});
