// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references in the configuration look like this.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { configJsonSchema } from "./config-json-schema.ts";
import { configReference } from "./config-reference.ts";
import { settingSources } from "./config-sources.ts";

type JsonSchema = Parameters<typeof z.fromJSONSchema>[0];

describe("configJsonSchema", () => {
  const schema = z.fromJSONSchema(configJsonSchema() as JsonSchema);

  it.each([
    [{}, true],
    [{ settings: null, scheduler: { coordinator: { "heartbeat-interval": 5, heartbeatTimeout: 10 } } }, true],
    [
      {
        server: { port: "${PORT}" },
        database: { schema: "${SCHEMA}" },
        settings: { "log-level": "${?LEVEL}" },
      },
      true,
    ],
    [
      { services: { s: { "class-name": "T", resources: { a: "dlq:x", b: ["dlq:x"] }, options: { x: 1 } } } },
      true,
    ],
    [{ settngs: {} }, false],
    [{ server: { port: "eighty" } }, false],
    [{ server: { port: 70_000 } }, false],
    [{ settings: { logLevel: "loud" } }, false],
    [{ services: { s: { type: "T", resources: { a: 5 } } } }, false],
  ])("tells an editor whether %j is valid: %s", (value, isValid) => {
    expect(schema.safeParse(value).success).toBe(isValid);
  });

  it("can be written as JSON without losing anything", () => {
    const document = configJsonSchema();
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
    expect(document.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
  });
});

describe("configReference", () => {
  const rows = configReference();

  it("describes every setting", () => {
    expect(rows.filter((row) => !/^[A-Z].*\.$/.test(row.description))).toEqual([]);
  });

  it("says what every setting takes", () => {
    const typeOf = (path: string) => rows.find((row) => row.path === path)?.type;
    expect(rows.filter((row) => row.type === "")).toEqual([]);
    expect(typeOf("database.maxPoolSize")).toBe("whole number, 1 to 1000");
    expect(typeOf("server.bodyBytesMax")).toBe("whole number, 1 or more");
    expect(typeOf("settings.logLevel")).toBe("one of debug, info, warn, error");
  });

  it("has a row for every setting that can be overridden", () => {
    expect(
      settingSources.map(({ path }) => path).filter((path) => !rows.some((row) => row.path === path)),
    ).toEqual([]);
    expect(rows.find((row) => row.path === "database.schema")).toEqual({
      path: "database.schema",
      type: "text",
      description: "Schema of Tallyman's own tables.",
      default: "tallyman",
      variable: "TALLYMAN_SCHEMA",
      flag: "--schema",
    });
  });
});
