import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseConfigFile } from "./config-file.ts";
import { hideSecrets, printConfig } from "./print-config.ts";
import { resolveConfig } from "./resolve-config.ts";

function resolveTree(tree: unknown) {
  return resolveText(stringify(tree));
}

function resolveText(text: string) {
  const file = parseConfigFile(text, { label: "x.yaml", folder: "/project" });
  return resolveConfig({ file, flags: {}, environment: {}, directory: "/here", knownTypes: {} });
}

const example = {
  runId: "run-1",
  database: { embedded: { folder: "/data", port: 5555 } },
  resources: { "token-topic": { className: "PostgresTopic", options: { claimTimeout: 300 } } },
  services: {
    "secret-indexer": {
      className: "DummyIndexer",
      resources: {
        topic: "topic-read:token-topic?consumerGroup=a%26b",
        all: ["dlq:token-topic", "queue-in:tokenTopic"],
      },
    },
  },
};

/** Each form is a place where people put secrets; the canary stands for the secret. */
const secretPlaces: ((canary: string) => object)[] = [
  (canary) => ({
    database: { url: `postgres://app:${encodeURIComponent(canary)}@db:5432/app?sslmode=require` },
  }),
  (canary) => ({ database: { url: `postgres://app:${canary}@db/app` } }),
  (canary) => ({ database: { url: `postgres://db/app?user=a&password=${canary}&sslmode=require` } }),
  (canary) => ({ database: { url: `host=db user=app password='${canary}'` } }),
  (canary) => ({
    resources: { r: { type: "T", options: { jdbcUrl: `jdbc:h2:/data/x;USER=sa;PASSWORD=${canary}` } } },
  }),
  (canary) => ({
    services: { s: { type: "T", options: { headers: { Authorization: `Bearer ${canary}` } } } },
  }),
  (canary) => ({ services: { s: { type: "T", options: { list: [{ credentials: { a: [canary] } }] } } } }),
  (canary) => ({
    resources: { r: { type: "T" } },
    services: { s: { type: "T", resources: { p: `dlq:r?apiToken=${encodeURIComponent(canary)}` } } },
  }),
  ...[
    "password",
    "db_password",
    "clientSecret",
    "token",
    "accessKey",
    "secret-access-key",
    "apiKey",
    "credential",
  ].map((key) => (canary: string) => ({
    resources: { r: { type: "T", options: { nested: { [key]: canary } } } },
  })),
];

describe("printConfig", () => {
  it.each(["yaml", "json"] as const)("writes %s that loads as the same configuration", (format) => {
    const config = resolveTree(example);
    expect(resolveText(printConfig(config, format))).toEqual(config);
  });

  it("never shows a secret", () => {
    // With "${" it may be a reference to the environment, which is refused where nothing is set.
    const canary = fc
      .string({ unit: "grapheme", maxLength: 20 })
      .filter((noise) => !noise.includes("${"))
      .map((noise) => `${noise}cAnArY${noise}`);
    fc.assert(
      fc.property(
        fc.constantFrom(...secretPlaces),
        canary,
        fc.constantFrom("yaml", "json"),
        (place, secret, format) => {
          const printed = printConfig(resolveTree(place(secret)), format as "yaml" | "json");
          expect(printed).toContain("***");
          expect(printed).not.toContain("cAnArY");
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each([
    ["postgres://app:hunter2@db:5432/app?sslmode=require", "postgres://app:***@db:5432/app?sslmode=require"],
    ["postgres://app:p@ss/w@db/app", "postgres://app:***@db/app"],
    ["postgres://:hunter2@db/app", "postgres://:***@db/app"],
    ["postgres://app@db:5432/app", "postgres://app@db:5432/app"],
    ["http://localhost:8082/api", "http://localhost:8082/api"],
    ["storage/run-1", "storage/run-1"],
  ])("turns %s into %s", (text, expected) => {
    expect(hideSecrets(text)).toBe(expected);
  });

  it("hides numbers too, and leaves what is not set", () => {
    expect(hideSecrets({ password: 12345, token: null, user: "sa" })).toEqual({
      password: "***",
      token: null,
      user: "sa",
    });
  });
});

describe("error messages", () => {
  it("never show a secret from the file", () => {
    const secret = "cAnArY";
    const broken = [
      `database: { url: "postgres://a:${secret}@h/d", urll: ${secret} }`,
      `database:\n  url: *${secret}`,
      `database:\n  url: !${secret} x`,
      `database:\n  url: "${secret}\n`,
      `database:\n  url: [${secret}\nserver: {}`,
      `database:\n  url: @${secret}`,
      `database:\n  url: a: ${secret}`,
      `runId: "${secret}/"`,
      `services: { s: { type: T, resources: { a: "dlqq:x?token=${secret}" } } }`,
    ];
    for (const text of broken) {
      const error = (() => {
        try {
          return resolveText(text);
        } catch (caught) {
          return caught as Error & { details: unknown };
        }
      })();
      expect(error).toBeInstanceOf(Error);
      expect(
        JSON.stringify([(error as Error).message, error]) + String((error as Error).cause),
      ).not.toContain(secret);
    }
  });
});
