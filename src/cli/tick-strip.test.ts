import { describe, expect, it } from "vitest";
import { tickStrip } from "./tick-strip.ts";

const none = { indexed: 0, in_flight: 0, failed: 0, pending: 0, permanent: 0, missing: 0 };

describe("tickStrip", () => {
  it("has a mark for each class", () => {
    const classes = ["indexed", "in_flight", "failed", "pending", "permanent", "missing"];
    expect(tickStrip(classes.map((name) => ({ ...none, [name]: 7 })))).toBe("█░!·×?");
    expect(tickStrip([])).toBe("");
  });

  it("never hides a small gap in a large bucket: each shows the worst that is in it", () => {
    const all = { ...none, indexed: 50_000 };
    const buckets = [
      all,
      { ...all, pending: 1 },
      { ...all, failed: 1, in_flight: 9 },
      { ...all, permanent: 1, pending: 2 },
    ];
    expect(tickStrip(buckets)).toBe("█·!×");
  });
});
