import { describe, expect, it } from "vitest";
import { type JsonSchema, limitsText, typeText } from "./type-text.ts";

const time: JsonSchema = { type: ["string", "null"], format: "date-time" };

describe("typeText", () => {
  it.each<[JsonSchema, string]>([
    [{}, "any"],
    [{ type: "string", format: "uuid" }, "uuid"],
    [time, "time | null"],
    [{ enum: ["a", "b"] }, '"a" | "b"'],
    [{ type: "array", items: time }, "(time | null)[]"],
    [{ type: "object", patternProperties: { "^.*$": { type: "integer" } } }, "{ [name]: integer }"],
    [{ type: "object", properties: { a: {}, b: time }, required: ["b"] }, "{ a?: any, b: time | null }"],
  ])("writes %j as %s", (schema, text) => {
    expect(typeText(schema)).toBe(text);
  });

  it("puts limits and descriptions behind the fields that have them", () => {
    const properties = { n: { type: "integer", minimum: 1, maximum: 9, description: "how many" } };
    expect(typeText({ type: "object", properties })).toBe("{\n  n?: integer // 1 to 9; how many\n}");
  });
});

describe("limitsText", () => {
  it("leaves out limits that are only those of the type", () => {
    expect(limitsText({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })).toBe("");
    expect(limitsText({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 })).toBe("");
    expect(limitsText({ maxLength: 255 })).toBe("255 characters at most");
  });
});
