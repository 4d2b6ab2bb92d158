import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isTallymanError } from "../../errors/index.ts";
import { formatResourceUri, parseResourceUri, resourceUsages } from "./resource-uri.ts";

const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,20}$/);
const uri = fc.record({
  usage: fc.constantFrom(...resourceUsages),
  resource: name,
  parameters: fc.dictionary(name, fc.string({ unit: "grapheme" }), { noNullPrototype: true }),
});

function failure(text: string): string {
  try {
    parseResourceUri(text);
  } catch (error) {
    if (isTallymanError(error, "RESOURCE_URI_INVALID")) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

describe("resource URI", () => {
  it("comes back from its text unchanged", () => {
    fc.assert(
      fc.property(uri, (value) => {
        expect(parseResourceUri(formatResourceUri(value))).toEqual(value);
      }),
    );
  });

  it.each([
    [
      "topic-read:batch-topic?consumerGroup=dummy-indexer",
      "topic-read",
      "batch-topic",
      { consumerGroup: "dummy-indexer" },
    ],
    [
      "topicRead:batchTopic?consumerGroup=dummyIndexer",
      "topic-read",
      "batchTopic",
      { consumerGroup: "dummyIndexer" },
    ],
    ["dbMetaRead:indexDatabase", "db-meta-read", "indexDatabase", {}],
    ["retryTracker:indexerRetries", "retry-tracker", "indexerRetries", {}],
    ["dlq:indexerDlq", "dlq", "indexerDlq", {}],
    ["queueOut:ticks?a=%26%3D%20&b=x=y+z&c=", "queue-out", "ticks", { a: "&= ", b: "x=y+z", c: "" }],
  ])("reads %s", (text, usage, resource, parameters) => {
    expect(parseResourceUri(text)).toEqual({ usage, resource, parameters });
  });

  it.each([
    ["", "has no usage"],
    ["batch-topic", "has no usage"],
    ["?a=b", "has no usage"],
    [":x", "unknown usage ''"],
    ["topic-raed:x", "unknown usage 'topic-raed'. Did you mean 'topic-read'?"],
    ["topic-read:", "no valid resource name"],
    ["topic-read:a b", "no valid resource name"],
    ["topic-read:a:b", "no valid resource name"],
    ["topic-read:x?", "parameter without a valid name"],
    ["topic-read:x?a", "parameter without a valid name"],
    ["topic-read:x?=1", "parameter without a valid name"],
    ["topic-read:x?a=1&", "parameter without a valid name"],
    ["topic-read:x?__proto__=1", "parameter without a valid name"],
    ["topic-read:x?a=1&a=2", "'a' twice"],
    ["topic-read:x?a=%zz", "broken percent sequence in parameter 'a'"],
  ])("rejects %j in one line: %s", (text, expected) => {
    expect(failure(text)).toContain(expected);
    expect(failure(text)).toMatch(/^[^\n]+\.$/);
  });

  it("lists every supported usage when one is unknown", () => {
    for (const usage of resourceUsages) expect(failure("teleport:x")).toContain(usage);
  });

  it("never shows a parameter's value", () => {
    expect(failure("topic-raed:x?token=canary")).not.toContain("canary");
    expect(failure("topic-read:x?token=canary%zz")).not.toContain("canary");
  });

  it("is frozen", () => {
    const parsed = parseResourceUri("dlq:x?a=1");
    expect(Object.isFrozen(parsed) && Object.isFrozen(parsed.parameters)).toBe(true);
  });
});
