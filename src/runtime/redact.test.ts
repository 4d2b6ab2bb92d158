import { describe, expect, it } from "vitest";
import { TallymanError } from "../errors/index.ts";
import { isSecretKey, redactText, toLogFields, toLogValue } from "./redact.ts";

describe("redactText", () => {
  it.each([
    ["postgres://ann:hunter2@db:5432/app", "postgres://ann:***@db:5432/app"],
    ["postgres://ann:hun/ter@2@db/app is wrong", "postgres://ann:***@db/app is wrong"],
    ["nats://:hunter2@a:4222", "nats://:***@a:4222"],
    ["host=db password=hunter2 user=ann", "host=db password=*** user=ann"],
    ["http://db/?access_token=hunter2&page=2", "http://db/?access_token=***&page=2"],
    ['{"PGPASSWORD": "hunter2", "port": 1}', '{"PGPASSWORD": "***", "port": 1}'],
    ["Authorization: Bearer hunter2.abc-def", "Authorization: ***"],
    ["sent Bearer hunter2.abc-def", "sent Bearer ***"],
    ["password='hunter 2' user=ann", "password=*** user=ann"],
  ])("masks the secret in %s", (text, expected) => {
    expect(redactText(text)).toBe(expected);
  });

  it.each(["http://localhost:8082/leader", "stale token 7", "basic settings", "mail ann@example.org"])(
    "leaves %s alone",
    (text) => {
      expect(redactText(text)).toBe(text);
    },
  );
});

describe("isSecretKey", () => {
  it("looks at the end of the key, whatever its dress", () => {
    const secret = [
      "password",
      "PGPASSWORD",
      "access_token",
      "clientSecret",
      "api-key",
      "Authorization",
      "tokens",
    ];
    const open = ["passwordLength", "user", "key", "tokenCount", "primaryKey"];
    expect(secret.filter(isSecretKey)).toEqual(secret);
    expect(open.filter(isSecretKey)).toEqual([]);
  });
});

describe("toLogValue", () => {
  it("masks by key at any depth, and in every text", () => {
    const fields = { a: [{ password: "x", url: "pg://u:x@h" }], token: undefined, secret: 0 };
    expect(toLogFields(fields)).toEqual({
      a: [{ password: "***", url: "pg://u:***@h" }],
      token: undefined,
      secret: "***",
    });
  });

  it("turns an error and its causes into plain data", () => {
    const cause = new AggregateError([new Error("password=hunter2")], "both failed");
    const error = new TallymanError("DATABASE_UNREACHABLE", "no answer", { details: { port: 1 }, cause });
    expect(toLogValue(error)).toMatchObject({
      name: "TallymanError",
      code: "DATABASE_UNREACHABLE",
      message: "no answer",
      details: { port: 1 },
      stack: expect.stringContaining("redact.test.ts"),
      cause: { name: "AggregateError", errors: [{ message: "password=***" }] },
    });
    expect(JSON.stringify(toLogValue(error))).not.toContain("hunter2");
  });

  it("makes what JSON can't hold readable", () => {
    const bytes = new Uint8Array(3);
    const date = new Date("2025-01-01T00:00:00Z");
    expect(
      [1n, bytes, date, new Date(Number.NaN), Symbol("s"), toLogValue, null].map((v) => toLogValue(v)),
    ).toEqual([
      "1",
      "[3 bytes]",
      "2025-01-01T00:00:00.000Z",
      "Invalid Date",
      "Symbol(s)",
      "[function toLogValue]",
      null,
    ]);
  });

  it("bounds depth, breadth and length", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(JSON.stringify(toLogValue(cycle))).toContain("[deeper]");
    expect(toLogValue(new Array(1_000).fill(0))).toHaveLength(100);
    expect(toLogValue("x".repeat(10_005))).toBe(`${"x".repeat(10_000)}… (5 more characters)`);
  });
});
