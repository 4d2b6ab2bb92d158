import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type MetadataInfo, MetadataInfoSchema } from "../../contracts/index.ts";
import { FileSystemStorage } from "../../storage/index.ts";
import { LogCapture } from "../../testing/index.ts";
import { BatchWriter } from "../index.ts";

interface Row {
  readonly n: number;
  readonly text?: unknown;
}

const options = { runId: "run-1", sequenceOf: ({ n }: Row) => n };
let logs: LogCapture;
let rootDirectory: string;
let storage: FileSystemStorage;

beforeEach(async () => {
  logs = new LogCapture();
  rootDirectory = await mkdtemp(join(tmpdir(), "tallyman-writer-"));
  storage = new FileSystemStorage({ rootDirectory });
});

afterEach(async () => {
  logs[Symbol.dispose]();
  logs.verify();
  await rm(rootDirectory, { recursive: true });
});

function expectNoTopic(): void {
  logs.expectLog({ logger: "writer", level: "warn", message: "No topic is bound*" });
}

async function storedFiles() {
  return (await storage.listBatchFiles("run-1", undefined, 100)).files;
}

describe("BatchWriter", () => {
  it("writes JSON rows in files of maxBatchSize, in the order of their numbers", async () => {
    expectNoTopic();
    await using writer = new BatchWriter<Row>("writer", { storage }, { ...options, maxBatchSize: 3 });
    await writer.start();
    for (const n of [1, 0, 2, 3, 4]) await writer.write({ n, text: `row ${n}` });
    await writer.close();
    const rows: Row[] = [];
    for (const { key } of await storedFiles()) {
      await using batch = await storage.openBatch(key);
      for await (const { bytes } of batch.records()) rows.push(JSON.parse(Buffer.from(bytes).toString()));
    }
    expect(rows).toEqual([0, 1, 2, 3, 4].map((n) => ({ n, text: `row ${n}` })));
    expect(await storedFiles()).toMatchObject([
      { tickStart: 0, tickEnd: 2 },
      { tickStart: 3, tickEnd: 4 },
    ]);
    expect(writer.getMetrics()).toMatchObject({ ticks_written: 5, batches_written: 2, queue_records: 0 });
  });

  it("writes messages of any schema, which read back as they were", async () => {
    expectNoTopic();
    const infos = [0, 10, 20].map((n) =>
      create(MetadataInfoSchema, { storageKey: `key-${n}`, writtenAtMs: BigInt(n) }),
    );
    await using writer = new BatchWriter<MetadataInfo>(
      "writer",
      { storage },
      {
        runId: "run-1",
        schema: MetadataInfoSchema,
        sequenceOf: ({ writtenAtMs }) => Number(writtenAtMs),
        samplingInterval: 10,
      },
    );
    await writer.start();
    for (const info of infos) await writer.write(info);
    await writer.close();
    const [file] = await storedFiles();
    expect(file).toMatchObject({ tickStart: 0, tickEnd: 20 });
    expect(await storage.readBatch(file?.key ?? "", MetadataInfoSchema)).toEqual(infos);
    await expect(storage.readBatch(file?.key ?? "")).rejects.toMatchObject({ code: "BATCH_INVALID" });
  });

  it("drops a row that JSON can't hold with an error, and writes the others", async () => {
    expectNoTopic();
    logs.expectLog({ logger: "writer", level: "error", message: "Dropped bad tick 1: *BigInt*" });
    await using writer = new BatchWriter<Row>("writer", { storage }, options);
    await writer.start();
    for (const n of [0, 1, 2]) await writer.write({ n, text: n === 1 ? 1n : "" });
    await writer.close();
    expect((await storedFiles()).map(({ tickStart, tickEnd }) => [tickStart, tickEnd])).toEqual([
      [0, 0],
      [2, 2],
    ]);
  });

  it("fails close() when rows could not be written, and holds them", async () => {
    logs.expectLog({ logger: "writer", level: "error", message: "Failed: *" });
    const writeBatch = () => Promise.reject(new Error("The disk is away."));
    const broken = { storage: { writeBatch } as unknown as FileSystemStorage };
    await using writer = new BatchWriter<Row>("writer", broken, {
      ...options,
      maxRetries: 1,
      retryBackoffMs: 1,
    });
    await writer.start();
    await writer.write({ n: 0 });
    await expect(writer.close()).rejects.toThrow("The disk is away.");
    expect([writer.isHealthy(), writer.getMetrics().queue_records]).toEqual([false, 1]);
  });

  it("says that it was not started", async () => {
    await using writer = new BatchWriter<Row>("writer", { storage }, options);
    await writer.write({ n: 0 });
    await expect(writer.close()).rejects.toMatchObject({ code: "INVALID_STATE" });
  });

  it.each([
    [{ maxBatchSize: 0 }, /'maxBatchSize'/],
    [{ samplingIntervall: 2 }, /Did you mean 'samplingInterval'/],
    [{ runId: "../x" }, /can't be a run id/],
  ])("refuses %o", (more, message) => {
    expect(() => new BatchWriter<Row>("writer", { storage }, { ...options, ...more })).toThrow(message);
  });
});
