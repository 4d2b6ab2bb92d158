import { describe, expect, it } from "vitest";
import { ErrorLog, errorsKeptMax } from "./error-log.ts";

function logOf(count: number): ErrorLog {
  const errors = new ErrorLog();
  for (let n = 0; n < count; n++) errors.add({ code: "CLAIM_FAILED", message: "Failed", details: `${n}` });
  return errors;
}

const detailsOf = (errors: ErrorLog) => errors.list().map((error) => Number(error.details));

describe("ErrorLog", () => {
  it("stamps and keeps what it is given", () => {
    const before = Date.now();
    const [error] = logOf(1).list();
    expect(error).toMatchObject({ code: "CLAIM_FAILED", message: "Failed", details: "0" });
    expect(error?.timestamp.getTime()).toBeGreaterThanOrEqual(before);
  });

  it.each([0, 1, 99, 100, 101, 199, 200, 250])("of %d errors keeps the latest 100, oldest first", (count) => {
    const kept = Math.min(count, errorsKeptMax);
    const errors = logOf(count);
    expect(errors.size).toBe(kept);
    expect(detailsOf(errors)).toEqual(Array.from({ length: kept }, (_, n) => count - kept + n));
  });

  it("starts afresh after clear, and leaves lists handed out before alone", () => {
    const errors = logOf(150);
    const before = errors.list();
    errors.clear();
    expect(errors.list()).toEqual([]);
    for (let n = 0; n <= errorsKeptMax; n++) errors.add({ code: "X", message: "Failed", details: `${n}` });
    expect(detailsOf(errors)).toEqual(Array.from({ length: errorsKeptMax }, (_, n) => n + 1));
    expect(before.map((error) => error.code)).toEqual(Array(errorsKeptMax).fill("CLAIM_FAILED"));
  });
});
