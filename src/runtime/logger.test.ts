import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { configureLogging, currentLogging, type LogRecord, logger } from "./index.ts";
import { textSink } from "./log-sinks.ts";

const original = currentLogging();
let records: LogRecord[];

beforeEach(() => {
  records = [];
  configureLogging({ level: "debug", sink: (record) => records.push(record) });
});

afterEach(() => configureLogging(original));

describe("logger", () => {
  it("is at level warn until configured", () => {
    expect(original.level).toBe("warn");
  });

  it("hands named records with level, fields and time to the sink", () => {
    const log = logger("database.listener");
    const beforeMs = Date.now();
    log.debug("d");
    log.info("i", { port: 1 });
    log.warn("w");
    log.error("e");
    expect(records.map(({ level, message }) => [level, message])).toEqual([
      ["debug", "d"],
      ["info", "i"],
      ["warn", "w"],
      ["error", "e"],
    ]);
    expect(records[1]).toMatchObject({ logger: "database.listener", fields: { port: 1 } });
    expect(records[1]?.time).toBeGreaterThanOrEqual(beforeMs);
  });

  it("drops what is below the level, and obeys a change of it at once", () => {
    const log = logger("x");
    configureLogging({ level: "warn" });
    log.info("dropped");
    log.warn("kept");
    configureLogging({ level: "info" });
    log.info("kept too");
    expect(records.map(({ message }) => message)).toEqual(["kept", "kept too"]);
  });

  it("masks secrets and escapes line breaks and colour codes before any sink sees them", () => {
    logger("x").warn("no answer from\npg://u:hunter2@h \u001b[31m\u2028", { password: "hunter2" });
    expect(records[0]?.message).toBe("no answer from\\npg://u:***@h \\u001b[31m\\u2028");
    expect(records[0]?.fields).toEqual({ password: "***" });
  });

  it("never fails because its sink does", () => {
    configureLogging({
      sink: () => {
        throw new Error("disk full");
      },
    });
    expect(() => logger("x").error("e")).not.toThrow();
  });
});

describe("textSink", () => {
  const record: LogRecord = {
    level: "warn",
    logger: "database",
    message: "Slow.",
    fields: { level: "forged", text: "a\nb", plain: "ok", ms: 5, none: undefined },
    time: Date.UTC(2025, 0, 2, 3, 4, 5, 6),
  };

  function written(format: "json" | "pretty"): string {
    let text = "";
    textSink(format, { write: (chunk) => (text += chunk) })(record);
    return text;
  }

  it("writes a JSON line that is the record", () => {
    const text = written("json");
    expect(text.indexOf("\n")).toBe(text.length - 1);
    expect(JSON.parse(text)).toEqual({
      level: "warn",
      time: "2025-01-02T03:04:05.006Z",
      logger: "database",
      fields: { level: "forged", text: "a\nb", plain: "ok", ms: 5 },
      message: "Slow.",
    });
  });

  it("writes one line for people", () => {
    expect(written("pretty")).toBe(
      '03:04:05.006 WARN  database: Slow. level=forged text="a\\nb" plain=ok ms=5 none=undefined\n',
    );
  });
});
