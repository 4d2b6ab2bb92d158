import { describe, expect, it } from "vitest";
import { FakeClock } from "../testing/index.ts";
import { deferred, sleep, WakeUp, withTimeout } from "./index.ts";

describe("sleep", () => {
  it("is the system clock's", async () => {
    await expect(sleep(60_000, AbortSignal.abort())).rejects.toMatchObject({ code: "ABORTED" });
    await expect(sleep(1)).resolves.toBeUndefined();
  });
});

describe("withTimeout", () => {
  it("passes on the outcome and leaves no timer behind", async () => {
    const clock = new FakeClock();
    const boom = new Error("boom");
    await expect(withTimeout(Promise.resolve(1), 10, "It", clock)).resolves.toBe(1);
    await expect(withTimeout(Promise.reject(boom), 10, "It", clock)).rejects.toBe(boom);
    expect(clock.pendingSleeps).toBe(0);
  });

  it("says what took too long, and swallows the late rejection", async () => {
    const clock = new FakeClock();
    const work = deferred();
    const waiting = expect(withTimeout(work.promise, 10, "The connection", clock)).rejects.toMatchObject({
      code: "TIMED_OUT",
      message: "The connection did not finish within 10 ms.",
    });
    await clock.advance(10);
    await waiting;
    work.reject(new Error("too late to matter"));
    await clock.advance(0);
  });
});

describe("WakeUp", () => {
  it("wakes a pending wait and cancels its timer", async () => {
    const clock = new FakeClock();
    const wakeUp = new WakeUp(clock);
    const waiting = wakeUp.wait(1_000);
    wakeUp.notify();
    await expect(waiting).resolves.toBe(true);
    expect(clock.pendingSleeps).toBe(0);
  });

  it("resolves to false when no hint came in time", async () => {
    const clock = new FakeClock();
    const waiting = new WakeUp(clock).wait(1_000);
    await clock.advance(1_000);
    await expect(waiting).resolves.toBe(false);
  });

  it("coalesces hints that came while nobody waited into one", async () => {
    const clock = new FakeClock();
    const wakeUp = new WakeUp(clock);
    wakeUp.notify();
    wakeUp.notify();
    wakeUp.notify();
    await expect(wakeUp.wait(1_000)).resolves.toBe(true);
    const second = wakeUp.wait(1_000);
    await clock.advance(1_000);
    await expect(second).resolves.toBe(false);
  });

  it("wakes one waiter per hint, the longest pending first", async () => {
    const clock = new FakeClock();
    const wakeUp = new WakeUp(clock);
    const woken: string[] = [];
    const waits = ["a", "b", "c"].map((name) =>
      wakeUp.wait(1_000).then((hint) => woken.push(`${name} ${hint}`)),
    );
    wakeUp.notify();
    wakeUp.notify();
    await clock.advance(1_000);
    await Promise.all(waits);
    expect(woken).toEqual(["a true", "b true", "c false"]);
  });

  it("gives no hint to a waiter that is gone", async () => {
    const clock = new FakeClock();
    const wakeUp = new WakeUp(clock);
    const controller = new AbortController();
    const aborted = wakeUp.wait(1_000, controller.signal);
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
    wakeUp.notify();
    await expect(wakeUp.wait(1_000)).resolves.toBe(true);
  });

  it("refuses to wait on an aborted signal and keeps the hint for the next", async () => {
    const wakeUp = new WakeUp(new FakeClock());
    wakeUp.notify();
    await expect(wakeUp.wait(1_000, AbortSignal.abort())).rejects.toMatchObject({ code: "ABORTED" });
    await expect(wakeUp.wait(1_000)).resolves.toBe(true);
  });
});
