import { describe, expect, it } from "vitest";
import { FakeClock } from "../../testing/index.ts";
import { discoverRun } from "./run-discovery.ts";

const since = new Date("2025-10-06T14:30:25.417Z");

/** The run that is found among these, each with the time that the storage has of it. */
function discover(runs: Readonly<Record<string, string>>): Promise<string> {
  const listRunIds = async (after = new Date(0)) =>
    Object.keys(runs).filter((runId) => new Date(runs[runId] ?? 0) > after);
  const options = { pollIntervalMs: 10, maxPollDurationMs: 0, clock: new FakeClock() };
  return discoverRun({ listRunIds, place: "here" }, since, options);
}

describe("discoverRun", () => {
  it.each([
    ["whole seconds", "2025-10-06T14:30:25.000Z"],
    ["ticks of the kernel's clock", "2025-10-06T14:30:25.414Z"],
  ])("finds a run that began with the service, in a storage that keeps %s", async (_, storedAt) => {
    expect(await discover({ "run-1": storedAt })).toBe("run-1");
  });

  it("passes over a run that is older than the service", async () => {
    const older = { "run-0": "2025-10-06T14:30:24.000Z" };
    await expect(discover(older)).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(await discover({ ...older, "run-1": "2025-10-06T14:30:29.000Z" })).toBe("run-1");
  });
});
