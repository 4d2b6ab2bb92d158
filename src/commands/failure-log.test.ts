import { describe, expect, it } from "vitest";
import { FakeClock, LogCapture } from "../testing/index.ts";
import { PermanentError } from "./errors.ts";
import { settlementOfFailure } from "./failure.ts";
import { FailureLog } from "./failure-log.ts";
import type { ClaimedRow } from "./sql/claim.ts";

const claimed = { id: 1, delivery: 1, attempts: 0, commandType: "Ship", commandId: "c-1" } as ClaimedRow;
const policy = { maxAttempts: 3, backoffMs: [10_000] };

describe("FailureLog", () => {
  it("tells a kind of failure at once, then every ten seconds with how many it left out", async () => {
    using logs = new LogCapture();
    const clock = new FakeClock();
    const failures = new FailureLog(clock);
    const fail = (error: Error) => failures.failed(claimed, settlementOfFailure(claimed, error, policy));
    for (let order = 0; order < 100; order++) fail(new Error(`order ${order} is closed`));
    fail(new PermanentError("no such customer"));
    await clock.advance(10_000);
    fail(new Error("order 100 is closed"));
    expect(logs.records.map(({ message, fields, level }) => ({ message, level, ...fields }))).toEqual([
      {
        message: "Ship failed: order 0 is closed",
        level: "info",
        commandId: "c-1",
        next: "tried again in 10 s",
      },
      {
        message: "Ship failed: no such customer",
        level: "info",
        commandId: "c-1",
        next: "IN_TROUBLESHOOTING_QUEUE",
      },
      {
        message: "Ship failed: order 100 is closed",
        level: "info",
        commandId: "c-1",
        next: "tried again in 10 s",
        more: 99,
      },
    ]);
  });
});
