import { describe, expect, it } from "vitest";
import { tickStrip } from "./tick-strip.ts";

describe("tickStrip", () => {
  it("shows each class at its place", () => {
    const ranges = [
      { tickClass: "indexed", start: 0, end: 390 },
      { tickClass: "pending", start: 400, end: 490 },
      { tickClass: "in_flight", start: 500, end: 690 },
      { tickClass: "failed", start: 700, end: 790 },
      { tickClass: "permanent", start: 800, end: 990 },
    ] as const;
    expect(tickStrip(ranges, { width: 10, samplingInterval: 10 })).toBe("████·░░!××");
  });

  it("never hides a small gap in a large range", () => {
    const ranges = [
      { tickClass: "indexed", start: 0, end: 499_999 },
      { tickClass: "pending", start: 500_000, end: 500_000 },
      { tickClass: "indexed", start: 500_001, end: 999_999 },
    ] as const;
    expect(tickStrip(ranges, { width: 20, samplingInterval: 1 })).toBe("██████████·█████████");
  });

  it("is no wider than the range", () => {
    const wide = { width: 80, samplingInterval: 1 };
    expect(tickStrip([{ tickClass: "indexed", start: 0, end: 2 }], wide)).toBe("███");
    expect(tickStrip([], wide)).toBe("");
  });
});
