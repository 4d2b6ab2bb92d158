// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references in the configuration look like this.
import { describe, expect, it } from "vitest";
import { isTallymanError, type TallymanError } from "../../errors/index.ts";
import { parseConfigFile } from "./config-file.ts";
import { type ConfigInputs, resolveConfig } from "./resolve-config.ts";

type Overrides = Partial<Omit<ConfigInputs, "file">>;

function resolveText(text: string, overrides: Overrides = {}) {
  const file = parseConfigFile(text, { label: "tallyman.config.yaml", folder: "/project" });
  return resolveConfig({
    file,
    flags: {},
    environment: {},
    directory: "/here",
    knownTypes: {},
    ...overrides,
  });
}

function failure(text: string, overrides: Overrides = {}): TallymanError {
  try {
    resolveText(text, overrides);
  } catch (error) {
    if (isTallymanError(error, "CONFIG_INVALID")) return error;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

const serviceDefaults = {
  autostart: true,
  restart: {
    policy: "on-error",
    maxRestarts: 5,
    backoffMs: 1_000,
    maxBackoffMs: 60_000,
    healthyAfterMs: 60_000,
  },
};

const settingsDefaults = {
  logLevel: "info",
  metricsWindowSeconds: 5,
  stopTimeoutMs: 30_000,
  topicSweepIntervalMs: 60_000,
};

const pipeline = `
resources:
  tick-storage: { className: org.evochora.datapipeline.resources.storage.FileSystemStorage }
  batch-topic: { type: PostgresTopic, options: { claimTimeout: 300 } }
services:
  dummyIndexer:
    className: org.evochora.datapipeline.services.indexers.DummyIndexer
    resources:
      storage: storageRead:tickStorage
      topic: ["topic-read:batch-topic?consumerGroup=a", "topicRead:batchTopic?consumerGroup=b"]
    options: { insertBatchSize: 1000 }
`;

describe("defaults and spellings", () => {
  it("has a default for everything", () => {
    expect(resolveText("")).toEqual({
      database: { embedded: { folder: "/project/.tallyman/postgres" }, schema: "tallyman", maxPoolSize: 10 },
      settings: settingsDefaults,
      server: { host: "127.0.0.1", port: 8082 },
      scheduler: {
        coordinator: {
          heartbeatInterval: 30_000,
          heartbeatTimeout: 60_000,
          leaderElectionInterval: 10_000,
          leaderLease: 10_000,
        },
      },
      resources: {},
      services: {},
    });
  });

  it("takes a block whose lines are all commented out as its defaults", () => {
    expect(resolveText("settings:\n  # logLevel: debug\nservices:\n")).toEqual(resolveText(""));
  });

  it("understands JSON", () => {
    expect(resolveText('{ "settings": { "logLevel": "warn" } }').settings.logLevel).toBe("warn");
  });

  it.each(["heartbeat-interval: 1000", "heartbeatInterval: 1000"])("understands %s", (line) => {
    const { coordinator } = resolveText(`scheduler: { coordinator: { ${line} } }`).scheduler;
    expect(coordinator.heartbeatInterval).toBe(1000);
  });

  it("binds services to resources in either spelling, and drops packages of classes", () => {
    const { resources, services } = resolveText(pipeline);
    expect(resources["tick-storage"]).toEqual({ className: "FileSystemStorage", options: {} });
    expect(services.dummyIndexer).toEqual({
      className: "DummyIndexer",
      resources: {
        storage: [{ usage: "storage-read", resource: "tick-storage", parameters: {} }],
        topic: [
          { usage: "topic-read", resource: "batch-topic", parameters: { consumerGroup: "a" } },
          { usage: "topic-read", resource: "batch-topic", parameters: { consumerGroup: "b" } },
        ],
      },
      options: { insertBatchSize: 1000 },
      ...serviceDefaults,
    });
  });

  it("prefers the exact name over the other spelling of it", () => {
    const text = `
resources: { batch-topic: { type: A }, batchTopic: { type: B } }
services: { s: { type: S, resources: { a: "topic-read:batchTopic", b: "topic-read:batch-topic" } } }`;
    expect(resolveText(text).services.s?.resources).toMatchObject({
      a: [{ resource: "batchTopic" }],
      b: [{ resource: "batch-topic" }],
    });
  });

  it("keeps the keys of options and chosen names as they are written", () => {
    const { services } = resolveText("services: { a-b: { type: T, options: { c-d: null, e: '1' } } }");
    const options = { "c-d": null, e: "1" };
    expect(services).toEqual({ "a-b": { className: "T", resources: {}, options, ...serviceDefaults } });
  });

  it("is frozen to its leaves", () => {
    const config = resolveText(pipeline);
    const parts = [config, config.database, config.services.dummyIndexer?.resources.topic?.[0]?.parameters];
    expect(parts.map((part) => part !== undefined && Object.isFrozen(part))).toEqual([true, true, true]);
  });
});

describe("run id", () => {
  const services = "services: { a: { type: T }, b: { type: T, options: { runId: own } } }";

  it("is inherited by services that name none", () => {
    const config = resolveText(`runId: shared\n${services}`);
    expect(config.services.a?.options).toEqual({ runId: "shared" });
    expect(config.services.b?.options).toEqual({ runId: "own" });
  });

  it.each([
    ["runId: shared", {}, "shared"],
    ["runId: shared", { TALLYMAN_RUN_ID: "from-environment" }, "from-environment"],
    ["", {}, undefined],
  ])("serves the reference of services after %j and %j", (line, environment, expected) => {
    const text = `${line}\nservices: { a: { type: T, options: { runId: "\${?pipeline.services.runId}" } } }`;
    expect(resolveText(text, { environment }).services.a?.options.runId).toBe(expected);
  });
});

describe("precedence", () => {
  it("is flags over environment over file over defaults", () => {
    const text = "settings: { logLevel: error }\ndatabase: { schema: from_file, maxPoolSize: 3 }";
    const environment = { TALLYMAN_SCHEMA: "from_environment", TALLYMAN_LOG_LEVEL: "warn" };
    const config = resolveText(text, { environment, flags: { logLevel: "debug" } });
    expect(config.settings).toEqual({ ...settingsDefaults, logLevel: "debug", metricsWindowSeconds: 5 });
    expect(config.database).toMatchObject({ schema: "from_environment", maxPoolSize: 3 });
  });

  it("reads numbers from the environment, and takes an empty variable as unset", () => {
    const environment = { TALLYMAN_HOST: "0.0.0.0", TALLYMAN_PORT: "9000", TALLYMAN_SCHEMA: "" };
    const config = resolveText("", { environment });
    expect(config.server).toEqual({ host: "0.0.0.0", port: 9000 });
    expect(config.database.schema).toBe("tallyman");
  });

  it("lets the upper layer decide between a server and the embedded one", () => {
    const url = "postgres://h/d";
    const embedded = resolveText(`database: { url: "${url}" }`, { flags: { embeddedFolder: "data" } });
    expect(embedded.database).toMatchObject({ embedded: { folder: "/here/data" } });
    expect(embedded.database.url).toBeUndefined();
    const server = resolveText("database: { embedded: { port: 5555 } }", {
      environment: { DATABASE_URL: url },
    });
    expect(server.database).toEqual({ url, schema: "tallyman", maxPoolSize: 10 });
  });

  it("needs no decision below a layer that has decided", () => {
    const environment = { DATABASE_URL: "postgres://h/d", TALLYMAN_EMBEDDED_FOLDER: "data" };
    const { database } = resolveText("", { environment, flags: { databaseUrl: "postgres://flag/d" } });
    expect(database).toMatchObject({ url: "postgres://flag/d" });
    expect(database.embedded).toBeUndefined();
  });

  it("takes paths of the file from the file's folder", () => {
    const { database } = resolveText("database: { embedded: { folder: data, port: 5555 } }");
    expect(database.embedded).toEqual({ folder: "/project/data", port: 5555 });
  });
});

describe("references", () => {
  const environment = { HOST: "db", PORT: "9000", EMPTY: "" };

  it.each([
    ["${HOST}", "db"],
    ["a-${HOST}-b", "a-db-b"],
    ["a${?MISSING}b", "ab"],
    ["$${HOST}", "${HOST}"],
    ["${EMPTY}", ""],
    ["${?MISSING}", undefined],
  ])("turns %s into %j", (value, expected) => {
    const { services } = resolveText(`services: { s: { type: T, options: { key: "${value}" } } }`, {
      environment,
    });
    expect(services.s?.options).toEqual(expected === undefined ? {} : { key: expected });
  });

  it("serves numbers, lists and defaults", () => {
    const text = `
server: { port: "\${PORT}" }
settings: { logLevel: "\${?MISSING}" }
services: { s: { type: T, options: { list: ["\${HOST}", "\${?MISSING}"] } } }`;
    const config = resolveText(text, { environment });
    expect([config.server.port, config.settings.logLevel]).toEqual([9000, "info"]);
    expect(config.services.s?.options).toEqual({ list: ["db"] });
  });

  it("leaves the environment's own text alone", () => {
    const url = "postgres://u:${HOST}@h/d";
    expect(resolveText("", { environment: { ...environment, DATABASE_URL: url } }).database.url).toBe(url);
  });
});

describe("bad input", () => {
  const place = "tallyman.config.yaml";
  const topic = "resources: { batch-topic: { type: T } }\nservices:\n  s:\n    type: T\n    resources:\n";

  it.each([
    ["settngs: {}", `${place}:1: settngs: unknown key. Did you mean 'settings'?`],
    ["settings:\n  loglevel: info", `${place}:2: settings.loglevel: unknown key. Did you mean 'logLevel'?`],
    ["pipeline: {}", `${place}:1: pipeline: unknown key. Known: runId, database, settings, server,`],
    ["settings: { logLevel: debgu }", "must be one of debug, info, warn, error. Did you mean 'debug'?"],
    ["settings: { metricsWindowSeconds: 0 }", "settings.metricsWindowSeconds: must be at least 1."],
    ["server: { port: 70000 }", "server.port: must be at most 65535."],
    ["server: { port: 80.5 }", "server.port: expected a whole number, got a number."],
    ["server: { port: eighty }", "server.port: expected a whole number, got text."],
    ["server: { body-bytes-max: 0 }", "server.body-bytes-max: must be at least 1."],
    ["settings: [1]", "settings: expected a block of keys and values, got a list."],
    ["runId: 20251006", "runId: expected text. Put the value in quotes."],
    ["runId: a/b", "runId: not a run id. Use at most 100 letters"],
    ["database: { url: '' }", "database.url: must not be empty."],
    ["database: { schema: pg_x }", "database.schema: not a usable schema name. Use at most 63"],
    [
      "database: { url: x, embedded: {} }",
      "database.embedded: both a database url and an embedded server are given. Keep one",
    ],
    [
      "scheduler: { coordinator: { heartbeat-timeout: 59999 } }",
      "scheduler.coordinator.heartbeat-timeout: must be at least twice heartbeatInterval",
    ],
    [
      "scheduler: { coordinator: { heartbeat-timeout: 60000, heartbeatTimeout: 60000 } }",
      "given in two spellings. Keep one",
    ],
    [
      "services: { runId: x }",
      "services.runId: not a service. The runId for all services is the key runId at the top",
    ],
    ["services: { 1a: { type: T } }", "services.1a: not a usable name. Begin with a letter"],
    ["services: { a: {} }", "services.a.className: required, once. Name the class with className"],
    ["services: { a: { type: T, class-name: T } }", "services.a.class-name: required, once."],
    ["services: { a: }", "services.a: expected a block of keys and values, got nothing."],
    ["services: { a: { type: '../x' } }", "services.a.type: not a class name."],
    [`${topic}      topic: 5`, `${place}:6: services.s.resources.topic: expected a resource URI`],
    [`${topic}      topic: []`, `${place}:6: services.s.resources.topic: must not be empty.`],
    [
      `${topic}      topic: topic-read:batch-topc`,
      `${place}:6: services.s.resources.topic: no resource 'batch-topc'. Did you mean 'batch-topic'?`,
    ],
    [
      `${topic}      topic:\n        - topic-read:batch-topic\n        - topic-raed:x`,
      `${place}:8: services.s.resources.topic.1: Resource URI 'topic-raed:x' has the unknown usage`,
    ],
    [
      "services: { s: { type: T, resources: { a: 'dlq:x' } } }",
      "no resource 'x'. The file defines none: add it under resources.",
    ],
    [
      "server: { port: '${NOPE}' }",
      "server.port: environment variable NOPE is not set. Set it, or write ${?NOPE}",
    ],
    ["server: { port: '${user.home}' }", "server.port: ${user.home} is not an environment variable."],
    ["a: [", `${place}:1: wrong indentation, or a bracket that is not closed.`],
    ["a: 'b", `${place}:1: a character is missing`],
    ["a: 1\na: 2", `${place}:2: this key is given twice`],
    ["a:\n\t- b", `${place}:2: a tab is used for indentation. Use spaces.`],
    ["a: *hunter2", "an alias (*name) has no anchor (&name), holds itself"],
    [
      "services: { s: { type: T, options: &o { self: *o } } }",
      "an alias (*name) has no anchor (&name), holds itself",
    ],
    ["settings: { constructor: { type: 1 } }", "settings.constructor: unknown key."],
    ["server: { port: '${constructor}' }", "environment variable constructor is not set."],
    ["a: !hunter2 x", "tags (!name) are not supported"],
    ["a: 1\n---\nb: 1", "several documents"],
    ["- a", `${place}:1: expected keys and values.`],
  ])("answers %j with one line", (text, expected) => {
    const { message } = failure(text);
    expect(message).toContain(expected);
    expect(message).toMatch(/^[^\n]+[.?]$/);
  });

  it.each([
    [
      { environment: { TALLYMAN_LOG_LEVEL: "loud" } },
      "TALLYMAN_LOG_LEVEL: settings.logLevel: must be one of",
    ],
    [{ flags: { port: "abc" } }, "--port: server.port: expected a whole number, got text."],
    [
      { environment: { DATABASE_URL: "x", TALLYMAN_EMBEDDED_FOLDER: "y" } },
      "TALLYMAN_EMBEDDED_FOLDER: database.embedded.folder: both",
    ],
    [
      { environment: { TALLYMAN_SCHEMA: "A-b" }, flags: { schema: "B" } },
      "--schema: database.schema: not a usable",
    ],
  ] satisfies [Overrides, string][])("names the variable or flag of %j", (overrides, expected) => {
    expect(failure("", overrides).message).toContain(expected);
  });

  it("reports everything at once, with the data for programs", () => {
    const text = `settngs: {}\nserver: { port: -1 }\n${topic}      topic: topic-read:nope\n      dlq: \${NOPE}`;
    const error = failure(text, { environment: { TALLYMAN_LOG_LEVEL: "loud" } });
    expect(error.message).toMatch(/^5 problems in the configuration:\n/);
    expect(error.message.split("\n")).toHaveLength(6);
    expect(error.details.problems).toContainEqual({
      place: "tallyman.config.yaml:9",
      path: "services.s.resources.dlq",
      message: expect.stringContaining("NOPE is not set"),
    });
  });

  it("checks classes against the known ones, when they are given", () => {
    const knownTypes = { resources: ["FileSystemStorage", "PostgresTopics"], services: ["DummyIndexer"] };
    const { message } = failure(pipeline, { knownTypes });
    expect(message).toContain(
      "resources.batch-topic.type: unknown class 'PostgresTopic'. Did you mean 'PostgresTopics'?",
    );
    expect(message.split("\n")).toHaveLength(1);
  });
});
