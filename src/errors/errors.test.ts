import { describe, expect, it } from "vitest";
import {
  closest,
  didYouMean,
  errorCatalogue,
  isTallymanError,
  TallymanError,
  toTallymanError,
} from "./index.ts";

describe("errors", () => {
  it("carries code, details and cause, and finds its catalogue row", () => {
    const cause = new Error("connection refused");
    const error = new TallymanError("DATABASE_UNREACHABLE", "no answer", { details: { port: 1 }, cause });
    expect(error).toMatchObject({ code: "DATABASE_UNREACHABLE", details: { port: 1 }, cause });
    expect(error.entry).toMatchObject({ status: 503, exit: 6 });
    expect(isTallymanError(error, "DATABASE_UNREACHABLE")).toBe(true);
    expect(isTallymanError(error, "INTERNAL")).toBe(false);
  });

  it("wraps foreign errors and leaves its own alone", () => {
    const own = new TallymanError("USAGE", "x");
    expect(toTallymanError(own)).toBe(own);
    expect(toTallymanError("boom")).toMatchObject({ code: "INTERNAL", message: "boom" });
  });

  it("has a sentence for meaning and remedy of every code", () => {
    for (const entry of Object.values(errorCatalogue)) {
      expect(entry.meaning).toMatch(/\.$/);
      expect(entry.remedy).toMatch(/\.$/);
      expect(entry.exit).toBeGreaterThan(0);
    }
  });

  it("suggests the nearest name, and lists all when none is near", () => {
    expect(closest("topc-read", ["topic-read", "topic-write"])).toBe("topic-read");
    expect(closest("zzz", ["topic-read"])).toBeUndefined();
    expect(didYouMean("zzz", ["a", "b"])).toBe("Known: a, b.");
  });
});
