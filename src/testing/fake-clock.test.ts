import { describe, expect, it } from "vitest";
import { FakeClock } from "./index.ts";

describe("FakeClock", () => {
  it("moves wall and monotonic time only when told", async () => {
    const clock = new FakeClock(1_000);
    expect([clock.now(), clock.monotonicMs()]).toEqual([1_000, 0]);
    await clock.advance(50);
    expect([clock.now(), clock.monotonicMs()]).toEqual([1_050, 50]);
  });

  it("wakes sleepers at their own moment: earliest first, then in the order they began", async () => {
    const clock = new FakeClock();
    const woken: string[] = [];
    for (const [name, ms] of [
      ["late", 30],
      ["first", 10],
      ["second", 10],
      ["never", 31],
    ] as const) {
      void clock.sleep(ms).then(() => woken.push(`${name}@${clock.monotonicMs()}`));
    }
    expect(clock.pendingSleeps).toBe(4);
    await clock.advance(30);
    expect(woken).toEqual(["first@10", "second@10", "late@30"]);
    expect(clock.pendingSleeps).toBe(1);
  });

  it("wakes a loop again within one advance", async () => {
    const clock = new FakeClock();
    let turns = 0;
    const loop = async () => {
      for (; turns < 100; turns++) await clock.sleep(10);
    };
    void loop();
    await clock.advance(35);
    expect(turns).toBe(3);
  });

  it("rejects an aborted sleep and forgets it", async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const sleeping = clock.sleep(10, controller.signal);
    controller.abort();
    await expect(sleeping).rejects.toMatchObject({ code: "ABORTED" });
    await expect(clock.sleep(10, controller.signal)).rejects.toMatchObject({ code: "ABORTED" });
    expect(clock.pendingSleeps).toBe(0);
  });
});
