import { describe, expect, it } from "vitest";
import { systemClock } from "./index.ts";

describe("systemClock", () => {
  it("sleeps at least as long as asked, on the monotonic clock", async () => {
    const startedMs = systemClock.monotonicMs();
    await systemClock.sleep(50);
    // Timers count whole milliseconds of a clock that may be coarse, so they fire a few of them early.
    expect(systemClock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(45);
  });

  it("rejects with ABORTED and the reason, before and during the sleep", async () => {
    const controller = new AbortController();
    const sleeping = systemClock.sleep(60_000, controller.signal);
    const reason = new Error("shutting down");
    controller.abort(reason);
    await expect(sleeping).rejects.toMatchObject({ code: "ABORTED", cause: reason });
    await expect(systemClock.sleep(60_000, controller.signal)).rejects.toMatchObject({ code: "ABORTED" });
  });

  it("does not mistake a sleep longer than Node's timers for none", async () => {
    const controller = new AbortController();
    let ended = false;
    const sleeping = systemClock.sleep(Number.POSITIVE_INFINITY, controller.signal).finally(() => {
      ended = true;
    });
    await systemClock.sleep(5);
    expect(ended).toBe(false);
    controller.abort();
    await expect(sleeping).rejects.toMatchObject({ code: "ABORTED" });
  });
});
