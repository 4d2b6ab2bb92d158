import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { SimulationMetadataSchema } from "../../contracts/index.ts";
import { MetadataNotFoundError } from "../../coordination/index.ts";
import { FakeClock } from "../../testing/index.ts";
import { MetadataReadingComponent } from "./metadata-reading-component.ts";

const metadata = create(SimulationMetadataSchema, { simulationRunId: "run-1", samplingInterval: 10 });
const options = { metadataPollIntervalMs: 1_000, metadataMaxPollDurationMs: 5_000 };

/** A reader that has the metadata from the given read on. */
function readerFrom(read: number) {
  let reads = 0;
  return {
    getMetadata: async (runId: string) => {
      if (++reads < read) throw new MetadataNotFoundError(runId);
      return metadata;
    },
    get reads() {
      return reads;
    },
  };
}

describe("MetadataReadingComponent", () => {
  it("polls until the metadata is there, and keeps it", async () => {
    const clock = new FakeClock();
    const reader = readerFrom(3);
    const component = new MetadataReadingComponent(reader, { ...options, clock });
    const loading = component.loadMetadata("run-1");
    await clock.advance(2_000);
    await loading;
    expect(component.getSamplingInterval()).toBe(10);
    expect(component.getMetadata()).toBe(metadata);
    expect(reader.reads).toBe(3);
  });

  it("gives up in time, with a clear error", async () => {
    const clock = new FakeClock();
    const component = new MetadataReadingComponent(readerFrom(1_000), { ...options, clock });
    const loading = expect(component.loadMetadata("run-1")).rejects.toMatchObject({
      code: "METADATA_TIMEOUT",
      message: expect.stringContaining("within 5000 ms"),
    });
    await clock.advance(6_000);
    await loading;
  });

  it("ends the wait when told", async () => {
    const controller = new AbortController();
    const component = new MetadataReadingComponent(readerFrom(1_000), options);
    const loading = component.loadMetadata("run-1", controller.signal);
    controller.abort();
    await expect(loading).rejects.toMatchObject({ code: "ABORTED" });
  });

  it("passes a database error on", async () => {
    const reader = { getMetadata: () => Promise.reject(new Error("no database")) };
    await expect(new MetadataReadingComponent(reader, options).loadMetadata("run-1")).rejects.toThrow(
      "no database",
    );
  });

  it("refuses to answer before it knows", () => {
    const component = new MetadataReadingComponent(readerFrom(1), options);
    expect(() => component.getSamplingInterval()).toThrow(/loadMetadata/);
  });
});
