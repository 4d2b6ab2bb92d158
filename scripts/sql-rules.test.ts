import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const files = ["src", "sql"]
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  )
  .filter((file) => (file.endsWith(".sql") || /\/sql\/.*\.ts$/.test(file)) && !file.includes(".test."));

/** The text without comments, which may speak of what is forbidden. */
const code = (file: string) => readFileSync(file, "utf8").replaceAll(/--.*|\/\*[\s\S]*?\*\/|\/\/.*/g, "");

describe("SQL", () => {
  it("uses the clock, not the time at which the transaction began", () => {
    const offenders = files.filter((file) =>
      /\bnow\(\)|\bcurrent_timestamp\b|\btransaction_timestamp\b/i.test(code(file)),
    );
    expect(files.length).toBeGreaterThan(3);
    expect(offenders).toEqual([]);
  });

  it("keeps no session state: PgBouncer hands connections around", () => {
    const offenders = files.filter((file) =>
      /\bpg_(try_)?advisory_lock(_shared)?\(|^\s*PREPARE /im.test(code(file)),
    );
    expect(offenders).toEqual([]);
  });
});
