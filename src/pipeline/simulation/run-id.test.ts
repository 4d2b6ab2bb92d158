import { describe, expect, it } from "vitest";
import { runSchemaName } from "../../database/index.ts";
import { newRunId, runStartOf } from "./run-id.ts";

const startedAtMs = Date.UTC(2025, 9, 6, 14, 30, 25, 417);

describe("newRunId", () => {
  it("begins with the start in UTC, to the millisecond", () => {
    expect(newRunId(startedAtMs, "550e8400-e29b-41d4-a716-446655440000")).toBe(
      "20251006143025417-550e8400-e29b-41d4-a716-446655440000",
    );
  });

  it("gives ids in the order of their starts, each with a plain schema name", () => {
    const ids = [0, 1, 999, 60_000].map((laterMs) => newRunId(startedAtMs + laterMs));
    expect(ids.toSorted()).toEqual(ids);
    for (const id of ids) expect(runSchemaName(id)).toBe(`sim_${id.replaceAll("-", "_")}`);
  });
});

describe("runStartOf", () => {
  it.each([
    [newRunId(startedAtMs), "2025-10-06T14:30:25.417Z"],
    ["20251006143025-550e8400-e29b-41d4-a716-446655440000", "2025-10-06T14:30:25.000Z"],
  ])("reads the start of %s", (runId, start) => {
    expect(runStartOf(runId)?.toISOString()).toBe(start);
  });

  it.each(["run-1", "20251306143025-x", "2025-10-06"])("knows none for %s", (runId) => {
    expect(runStartOf(runId)).toBeUndefined();
  });
});
