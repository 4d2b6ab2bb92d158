import { describe, expect, it } from "vitest";
import {
  type BatchIndexerOptions,
  batchPathOf,
  resolveBatchIndexerOptions,
} from "./batch-indexer-options.ts";

describe("options of a batch indexer", () => {
  it("have the documented defaults", () => {
    expect(resolveBatchIndexerOptions({})).toMatchObject({
      pollIntervalMs: 1_000,
      maxPollDurationMs: 300_000,
      metadataPollIntervalMs: 1_000,
      metadataMaxPollDurationMs: 300_000,
      topicPollTimeoutMs: 5_000,
      insertBatchSize: 1_000,
      flushTimeoutMs: 5_000,
      gapWarningTimeoutMs: 60_000,
      maxRetries: 3,
      enableIdempotency: false,
      source: "topic",
    });
  });

  it.each<[keyof BatchIndexerOptions, unknown]>([
    ["insertBatchSize", 0],
    ["flushTimeoutMs", -1],
    ["metadataPollIntervalMs", 0],
    ["metadataMaxPollDurationMs", 0],
    ["topicPollTimeoutMs", 0],
    ["gapWarningTimeoutMs", -5],
    ["maxRetries", 0],
    ["source", "both"],
  ])("refuse %s = %s by name", (option, value) => {
    expect(() => resolveBatchIndexerOptions({ [option]: value })).toThrow(new RegExp(`'${option}'`));
  });

  it("refuse a batchPath outside the run", () => {
    expect(batchPathOf("run-1", undefined)).toBe("run-1/");
    expect(batchPathOf("run-1", "run-1/raw/00000000001/")).toBe("run-1/raw/00000000001/");
    for (const path of ["custom/path/", "run-10/", "run-1"])
      expect(() => batchPathOf("run-1", path)).toThrow(/'batchPath' must begin with 'run-1\/'/);
  });

  it("suggest a name for one that is unknown", () => {
    expect(() => resolveBatchIndexerOptions({ insertBatchsize: 5 } as never)).toThrow(/insertBatchSize/);
  });
});
