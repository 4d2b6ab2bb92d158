import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TallymanError } from "../errors/index.ts";
import { newCommandId } from "./command-id.ts";
import { errorSignature } from "./error-signature.ts";
import { BusinessRuleError, PermanentError, TransientError } from "./errors.ts";
import { backoffAfter, markOutage, settlementOfFailure } from "./failure.ts";
import { prefetchLimit } from "./prefetch.ts";
import { storableJson } from "./serialize.ts";
import type { ClaimedRow } from "./sql/claim.ts";

const claimed = { id: 1, delivery: 2, attempts: 0, maxAttempts: null } as ClaimedRow;
const policy = { maxAttempts: 3, backoffMs: [10_000, 60_000, 300_000] };

describe("settlementOfFailure", () => {
  it.each([
    [new TransientError("x"), 0, null, "RETRY", 10_000],
    [new Error("x"), 1, null, "RETRY", 60_000],
    [new Error("x"), 2, null, "IN_TROUBLESHOOTING_QUEUE", undefined],
    [new Error("x"), 2, 9, "RETRY", 300_000],
    [new Error("x"), 5, 9, "RETRY", 300_000],
    [new Error("x"), 0, 1, "IN_TROUBLESHOOTING_QUEUE", undefined],
    [new PermanentError("x"), 0, null, "IN_TROUBLESHOOTING_QUEUE", undefined],
    [new TallymanError("COMMAND_TYPE_UNKNOWN", "x"), 0, null, "IN_TROUBLESHOOTING_QUEUE", undefined],
    [new BusinessRuleError("x"), 0, null, "FAILED", undefined],
    ["a string", 0, null, "RETRY", 10_000],
  ])("%s after %i attempts with limit %s → %s", (error, attempts, maxAttempts, outcome, delayMs) => {
    const settlement = settlementOfFailure({ ...claimed, attempts, maxAttempts }, error, policy);
    expect(settlement).toMatchObject({ outcome, isAttempt: true, delivery: 2 });
    expect(settlement.delayMs).toBe(delayMs);
  });

  it.each([
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["a number", 7, "7"],
    ["a symbol", Symbol("x"), "Symbol(x)"],
    ["an object without a prototype", Object.create(null), "something without a text, of type object"],
    ["an Error with another message", Object.assign(new Error(), { message: 7 }), "Error: 7"],
    ["an Error without a name", Object.assign(new Error("x"), { name: undefined }), "x"],
  ])("describes %s", (_what, thrown, message) => {
    const { error } = settlementOfFailure(claimed, thrown, policy);
    expect(error).toEqual({ code: "Error", message, signature: expect.stringMatching(/^Error: /) });
  });

  it.each([
    ["the pool is busy", new TallymanError("DATABASE_POOL_EXHAUSTED", "x"), true],
    ["nobody answers", new TallymanError("DATABASE_UNREACHABLE", "x"), true],
    ["the server is read-only", Object.assign(new Error("x"), { code: "25006" }), true],
    ["the disk is full", Object.assign(new Error("x"), { code: "53100" }), true],
    ["a row is there already", Object.assign(new Error("x"), { code: "23505" }), false],
  ])("knows whether a transaction of ours costs an attempt when %s", (_what, error, isFree) => {
    markOutage(error);
    const settlement = settlementOfFailure({ ...claimed, maxAttempts: 1 }, error, policy);
    expect(settlement.outcome).toBe(isFree ? "RETRY" : "IN_TROUBLESHOOTING_QUEUE");
    expect(settlement.isAttempt ?? false).toBe(!isFree);
  });

  it("repeats the last delay", () => {
    expect([1, 2, 3, 4, 50].map((attempt) => backoffAfter(attempt, policy.backoffMs))).toEqual([
      10_000, 60_000, 300_000, 300_000, 300_000,
    ]);
  });
});

describe("errorSignature", () => {
  it.each([
    ["Order 4711 of 'Mia' is closed", "E: Order <n> of <text> is closed"],
    ["no row for 0b84f1f4-98f7-4c3e-8f0b-0d7c5b3ff0aa", "E: no row for <id>"],
    ["at 2024-05-01T10:00:00.123Z: down\nstack", "E: at <time>: down"],
    ["commit 3f2a9bc1d0 failed", "E: commit <id> failed"],
  ])("%s → %s", (message, signature) => expect(errorSignature("E", message)).toBe(signature));

  it("is the same whatever the numbers are, and never too long", () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.string(), (a, b, text) => {
        const words = text.replaceAll(/[0-9a-f'"`]/gi, "");
        expect(errorSignature("E", `${words} ${a}`)).toBe(errorSignature("E", `${words} ${b}`));
        expect(errorSignature("E", text.repeat(50)).length).toBeLessThanOrEqual(255);
      }),
    );
  });
});

describe("storableJson", () => {
  it("has no text for what JSON can't say", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect([{ n: 1n }, circle, undefined].map(storableJson)).toEqual([undefined, undefined, undefined]);
  });

  it("refuses exactly the strings with a NUL character or half a surrogate pair", () => {
    const letters = fc.constantFrom("\u0000", "\ud800", "\udc00", "\\", "u0000", "\\u0000", "😀", "a", '"');
    fc.assert(
      fc.property(
        fc.array(letters).map((parts) => parts.join("")),
        (text) => {
          const isStorable = !text.includes("\u0000") && Buffer.from(text).toString() === text;
          expect(storableJson({ text }) !== undefined).toBe(isStorable);
        },
      ),
    );
  });
});

describe("prefetchLimit", () => {
  it.each([
    ["before the first handler has ended", undefined, 30_000, 10],
    ["fast handlers", 0.01, 30_000, 500],
    ["handlers of 50 ms: a second's work", 50, 30_000, 200],
    ["the same with a short lease: half of it", 50, 1_000, 100],
    ["slow handlers: one each", 60_000, 30_000, 10],
  ])("%s", (_what, handlerMs, leaseMs, limit) => {
    expect(prefetchLimit({ concurrency: 10, prefetch: 500, leaseMs }, handlerMs)).toBe(limit);
  });
});

describe("newCommandId", () => {
  it("makes different UUIDs of version 7 that begin with the time", () => {
    const ids = Array.from({ length: 10_000 }, newCommandId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const time = Number.parseInt((ids[0] ?? "").replace("-", "").slice(0, 12), 16);
    expect(Math.abs(time - Date.now())).toBeLessThan(10_000);
  });
});
