import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { MetadataInfoSchema, TickDataSchema } from "../../contracts/index.ts";
import { CorruptBatchError } from "../../storage/index.ts";
import type { StorageConformanceCase } from "./conformance-case.ts";
import { bytesOf, flipped, keysOf, rejects, runId, someRecords, tickData } from "./fixtures.ts";
import { hostileKeys } from "./hostile-keys.ts";

/** What must not be written is refused, what is damaged is found out. */
export const integrityCases: readonly StorageConformanceCase[] = [
  {
    name: "refuses ranges that are none",
    async run(context) {
      const storage = context.open();
      const ranges = [
        [9, 8],
        [-1, 3],
        [0.5, 3],
        [0, Number.NaN],
        [0, 2 ** 53],
      ] as const;
      for (const [first, last] of ranges) {
        await rejects(storage.writeBatch(runId, first, last, []), "BATCH_INVALID");
        await rejects(storage.listBatchFiles(runId, undefined, 1, first, last), "BATCH_INVALID");
      }
      for (const limit of [0, -1, 1.5, 10_001])
        await rejects(storage.listBatchFiles(runId, undefined, limit), "INVALID_OPTION");
    },
  },
  {
    name: "refuses ticks of another run or range, and shows nothing of the batch",
    async run(context) {
      const storage = context.open();
      for (const stranger of [tickData("run-2", 5), tickData(runId, 10), tickData(runId, -1)]) {
        const ticks = [tickData(runId, 0), stranger];
        await rejects(storage.writeBatch(runId, 0, 9, ticks, { schema: TickDataSchema }), "BATCH_INVALID");
      }
      assert.deepEqual(await keysOf(storage), []);
    },
  },
  {
    name: "shows nothing of a batch whose records fail, or that is aborted",
    async run(context) {
      const storage = context.open();
      async function* failing() {
        yield* someRecords(400, 2_000);
        throw new Error("the source failed");
      }
      await assert.rejects(storage.writeBatch(runId, 0, 9, failing()), /the source failed/);
      const controller = new AbortController();
      async function* aborting() {
        yield* someRecords(400, 2_000);
        controller.abort();
        yield* someRecords(400, 2_000);
      }
      const { signal } = controller;
      await rejects(storage.writeBatch(runId, 0, 9, aborting(), { signal }), "ABORTED");
      assert.deepEqual(await keysOf(storage), []);
      assert.equal(await storage.findLastBatchFile(runId), undefined);
    },
  },
  {
    name: "detects damage anywhere, hands nothing out, and lets the producer write the file again",
    async run(context) {
      const storage = context.open();
      const { key } = await storage.writeBatch(runId, 0, 9, someRecords(10));
      const whole = await context.readRaw(key);
      const damaged = [
        Buffer.alloc(0),
        whole.subarray(0, 10),
        whole.subarray(0, -1),
        Buffer.concat([whole, bytesOf(0)]),
        Buffer.concat([whole, whole]),
        flipped(whole, 3),
        flipped(whole, whole.length >> 1),
        flipped(whole, whole.length - 9),
      ];
      for (const bytes of damaged) {
        await context.writeRaw(key, bytes);
        const error = await storage.readBatch(key, TickDataSchema).catch((thrown: unknown) => thrown);
        assert.ok(error instanceof CorruptBatchError);
        assert.equal(error.key, key);
        assert.ok(error.offset >= 0 && error.offset <= whole.length && error.expected.length > 0);
      }
      await storage.writeBatch(runId, 0, 9, someRecords(10));
      assert.deepEqual(await context.readRaw(key), whole);
    },
  },
  {
    name: "detects a file under another file's name",
    async run(context) {
      const storage = context.open();
      const first = await storage.writeBatch(runId, 0, 9, someRecords(10));
      const second = await storage.writeBatch(runId, 10, 19, someRecords(10));
      const other = await storage.writeBatch("run-2", 0, 9, someRecords(10));
      for (const stranger of [second, other]) {
        await context.writeRaw(first.key, await context.readRaw(stranger.key));
        await assert.rejects(storage.openBatch(first.key), CorruptBatchError);
        await assert.rejects(storage.describeBatch(first.key), CorruptBatchError);
      }
    },
  },
  {
    name: "says so when a file is not there",
    async run(context) {
      const storage = context.open();
      const missing = `${runId}/raw/00000000000/000/batch_0000000000000000000_0000000000000000009.pb`;
      await rejects(storage.readBatch(missing), "STORAGE_FILE_NOT_FOUND");
      await rejects(storage.openBatch(missing), "STORAGE_FILE_NOT_FOUND");
      await rejects(storage.describeBatch(missing), "STORAGE_FILE_NOT_FOUND");
      assert.deepEqual((await storage.listBatchFiles("no-such-run", undefined, 1)).files, []);
    },
  },
  {
    name: "refuses every hostile key, whatever is asked for",
    async run(context) {
      const storage = context.open();
      const keys = hostileKeys();
      assert.ok(keys.length >= 200);
      for (const key of keys) {
        await rejects(storage.readBatch(key), "STORAGE_KEY_INVALID", key);
        await rejects(storage.describeBatch(key), "STORAGE_KEY_INVALID", key);
        await rejects(storage.readMessage(key, MetadataInfoSchema), "STORAGE_KEY_INVALID", key);
        const write = storage.writeMessage(key, MetadataInfoSchema, create(MetadataInfoSchema));
        await rejects(write, "STORAGE_KEY_INVALID", key);
      }
      assert.deepEqual(await storage.listRunIds(), []);
    },
  },
  {
    name: "counts what it does, and stays healthy when a file is damaged",
    async run(context) {
      const storage = context.open();
      const file = await storage.writeBatch(runId, 0, 9, [], { schema: TickDataSchema });
      await storage.readBatch(file.key);
      await keysOf(storage);
      await context.writeRaw(file.key, bytesOf(1));
      await assert.rejects(storage.readBatch(file.key));
      const metrics = storage.getMetrics();
      const counted = [
        metrics.batches_written,
        metrics.batches_read,
        metrics.bytes_written,
        metrics.bytes_read,
      ];
      assert.deepEqual(counted, [1, 1, file.bytes, file.bytes]);
      assert.deepEqual([metrics.files_listed, metrics.corrupt_files, metrics.read_errors], [1, 1, 1]);
      assert.equal(storage.isHealthy(), true);
      assert.equal(storage.getErrors()[0]?.code, "READ_BATCH_FAILED");
    },
  },
];
