import { describe, expect, it } from "vitest";
import { configureLogging, currentLogging, logger } from "../runtime/index.ts";
import { LogCapture } from "./index.ts";

const log = logger("database.listener");
const lost = {
  logger: "database.listener",
  level: "warn",
  message: "Connection lost after * ms (*).",
} as const;

describe("LogCapture", () => {
  it("allows DEBUG and INFO, and keeps what was logged", () => {
    using logs = new LogCapture();
    log.debug("d");
    log.info("i", { port: 1 });
    logs.verify();
    expect(logs.records).toMatchObject([{ message: "d" }, { message: "i", fields: { port: 1 } }]);
  });

  it("fails on an unexpected WARN or ERROR, naming each", () => {
    using logs = new LogCapture();
    log.warn("Slow.", { ms: 5 });
    log.error("Gone.");
    expect(() => logs.verify()).toThrow(
      'Unexpected log: WARN database.listener: Slow. {"ms":5}\nUnexpected log: ERROR database.listener: Gone. {}',
    );
  });

  it("accepts a declared record, once or more, with wildcards for the parts that vary", () => {
    using logs = new LogCapture();
    log.warn("Connection lost after 5 ms (ECONNRESET).");
    logs.expectLog(lost);
    log.warn("Connection lost after 70 ms (end).");
    logs.verify();
  });

  it("fails when an expected record did not come", () => {
    using logs = new LogCapture();
    logs.expectLog(lost);
    logs.expectLog({ ...lost, level: "info", message: "Back." });
    expect(() => logs.verify()).toThrow(
      "Expected log did not come: WARN database.listener: Connection lost after * ms (*).\n" +
        "Expected log did not come: INFO database.listener: Back.",
    );
  });

  it.each([
    ["level", () => log.error("Connection lost after 5 ms (end).")],
    ["logger", () => logger("database").warn("Connection lost after 5 ms (end).")],
    ["beginning", () => log.warn("The Connection lost after 5 ms (end).")],
    ["end", () => log.warn("Connection lost after 5 ms (end). Really.")],
    ["literal", () => log.warn("Connection lost after 5 ms (end)!")],
  ])("does not match another %s", (_what, emit) => {
    using logs = new LogCapture();
    logs.expectLog(lost);
    emit();
    expect(() => logs.verify()).toThrow(/Unexpected log: .*\nExpected log did not come: /);
  });

  it.each(["*", "", " ** * "])("refuses the bare message '%s'", (message) => {
    using logs = new LogCapture();
    expect(() => logs.expectLog({ ...lost, message })).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION" }),
    );
  });

  it("refuses a wildcard for the logger", () => {
    using logs = new LogCapture();
    expect(() => logs.expectLog({ ...lost, logger: "database.*" })).toThrow("names its logger");
  });

  it("restores sink and level, once", () => {
    const before = currentLogging();
    const outer = new LogCapture();
    const inner = new LogCapture();
    inner[Symbol.dispose]();
    log.warn("seen by the outer one");
    expect(outer.records).toHaveLength(1);
    outer[Symbol.dispose]();
    inner[Symbol.dispose]();
    expect(currentLogging()).toEqual(before);
  });

  it("fails when the sink was replaced meanwhile", () => {
    using logs = new LogCapture();
    configureLogging({ sink: () => {} });
    expect(() => logs.verify()).toThrow("The log sink was replaced");
  });
});
