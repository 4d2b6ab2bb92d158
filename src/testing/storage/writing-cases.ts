import assert from "node:assert/strict";
import { MetadataInfoSchema, SimulationMetadataSchema, TickDataSchema } from "../../contracts/index.ts";
import { isTallymanError } from "../../errors/index.ts";
import { CorruptBatchError } from "../../storage/index.ts";
import type { StorageConformanceCase } from "./conformance-case.ts";
import {
  bytesOf,
  flipped,
  keysOf,
  metadata,
  recordsOf,
  rejects,
  runId,
  someRecords,
  tickData,
  toBuffer,
} from "./fixtures.ts";

/** What was written is read back, once, whatever happens twice. */
export const writingCases: readonly StorageConformanceCase[] = [
  {
    name: "gives back the records that were written, with every codec",
    async run(context) {
      for (const [index, codec] of (["none", "gzip", "brotli"] as const).entries()) {
        const storage = context.open({ codec });
        const records = someRecords(300, 2_000);
        const file = await storage.writeBatch(runId, index * 10, index * 10 + 9, records);
        assert.deepEqual(await recordsOf(context.open(), file.key), records);
        assert.equal(file.codec, codec);
        assert.equal(file.records, records.length);
        assert.equal((await context.readRaw(file.key)).length, file.bytes);
      }
    },
  },
  {
    name: "takes records from an async source that reuses its buffer",
    async run(context) {
      const buffer = new Uint8Array(4);
      async function* source() {
        for (let value = 0; value < 50; value++) yield buffer.fill(value);
      }
      const { key } = await context.open().writeBatch(runId, 0, 49, source());
      const read = await recordsOf(context.open(), key);
      assert.deepEqual(
        read.map((record) => record[0]),
        Array.from({ length: 50 }, (_, value) => value),
      );
    },
  },
  {
    name: "holds empty batches, empty records and records larger than a block",
    async run(context) {
      const storage = context.open();
      const empty = await storage.writeBatch(runId, 0, 0, []);
      assert.deepEqual(await recordsOf(storage, empty.key), []);
      const odd = [new Uint8Array(0), bytesOf(7, 1_000_000), new Uint8Array(0), bytesOf(8, 1)];
      const { key } = await storage.writeBatch(runId, 1, 1, odd);
      assert.deepEqual(await recordsOf(storage, key), odd.map(toBuffer));
    },
  },
  {
    name: "writes and reads TickData by its schema",
    async run(context) {
      const ticks = Array.from({ length: 20 }, (_, tick) => tickData(runId, tick * 10));
      const file = await context.open().writeBatch(runId, 0, 190, ticks, { schema: TickDataSchema });
      assert.deepEqual(await context.open().readBatch(file.key), ticks);
      await rejects(context.open().readBatch(file.key, MetadataInfoSchema), "BATCH_INVALID");
    },
  },
  {
    name: "resumes at any record",
    async run(context) {
      const records = someRecords(120, 20_000);
      const { key } = await context.open().writeBatch(runId, 0, 119, records);
      await using batch = await context.open().openBatch(key);
      for (const from of [0, 1, 12, 13, 14, 60, 118, 119, 120, 500]) {
        const positions: number[] = [];
        for await (const { position, bytes } of batch.records(from)) {
          positions.push(position);
          assert.deepEqual(toBuffer(bytes), records[position]);
        }
        assert.deepEqual(
          positions,
          Array.from({ length: Math.max(0, 120 - from) }, (_, n) => from + n),
        );
      }
    },
  },
  {
    name: "describes a file as its writer did",
    async run(context) {
      const written = await context.open().writeBatch(runId, 5, 9, someRecords(9));
      await using opened = await context.open().openBatch(written.key);
      const described = await context.open().describeBatch(written.key);
      for (const file of [described, opened.file])
        assert.deepEqual({ ...file, writtenAtMs: 0 }, { ...written, writtenAtMs: 0 });
      assert.ok(Math.abs(described.writtenAtMs - written.writtenAtMs) < 60_000);
    },
  },
  {
    name: "takes the same batch twice, and leaves the bytes alone",
    async run(context) {
      const first = await context.open().writeBatch(runId, 0, 9, someRecords(10));
      const bytes = await context.readRaw(first.key);
      const second = await context.open().writeBatch(runId, 0, 9, someRecords(10));
      assert.deepEqual({ ...second, writtenAtMs: 0 }, { ...first, writtenAtMs: 0 });
      assert.deepEqual(await context.readRaw(first.key), bytes);
      assert.deepEqual(await keysOf(context.open()), [first.key]);
    },
  },
  {
    name: "keeps one file for a range when the codec changes",
    async run(context) {
      const first = await context.open({ codec: "none" }).writeBatch(runId, 0, 9, someRecords(10));
      const second = await context.open({ codec: "gzip" }).writeBatch(runId, 0, 9, someRecords(10));
      assert.equal(second.key, first.key);
      assert.deepEqual(await keysOf(context.open()), [first.key]);
    },
  },
  {
    name: "refuses other records for a range that has a file",
    async run(context) {
      const first = await context.open().writeBatch(runId, 0, 9, someRecords(10));
      await rejects(context.open().writeBatch(runId, 0, 9, someRecords(11)), "BATCH_CONFLICT");
      assert.deepEqual(await recordsOf(context.open(), first.key), someRecords(10));
    },
  },
  {
    name: "lets many writers of the same batch succeed, and makes one file",
    async run(context) {
      const writers = Array.from({ length: 8 }, () =>
        context.open().writeBatch(runId, 0, 9, someRecords(10)),
      );
      const crcs = new Set((await Promise.all(writers)).map(({ crc }) => crc));
      assert.equal(crcs.size, 1);
      assert.equal((await keysOf(context.open())).length, 1);
    },
  },
  {
    name: "lets one of many writers of different batches succeed",
    async run(context) {
      if (!context.exclusiveCreate) return;
      const writers = Array.from({ length: 8 }, (_, index) =>
        context.open().writeBatch(runId, 0, 9, someRecords(index + 1)),
      );
      const outcomes = await Promise.allSettled(writers);
      const won = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
      assert.equal(won.length, 1);
      assert.equal((await recordsOf(context.open(), won[0]?.key ?? "")).length, won[0]?.records);
      for (const outcome of outcomes)
        if (outcome.status === "rejected") assert.ok(isTallymanError(outcome.reason, "BATCH_CONFLICT"));
    },
  },
  {
    name: "keeps messages, replaces them as a whole, and checks their type",
    async run(context) {
      const storage = context.open();
      for (const key of [`${runId}/metadata.pb`, `${runId}/metadata.pb.br`, `${runId}/a/b/c.pb.gz`]) {
        await rejects(storage.readMessage(key, SimulationMetadataSchema), "STORAGE_FILE_NOT_FOUND");
        for (const seed of [1n, 2n]) {
          const message = { ...metadata(runId), initialSeed: seed };
          const file = await storage.writeMessage(key, SimulationMetadataSchema, message);
          assert.equal((await context.readRaw(key)).length, file.bytes);
          assert.deepEqual(await context.open().readMessage(key, SimulationMetadataSchema), message);
        }
        await rejects(storage.readMessage(key, MetadataInfoSchema), "BATCH_INVALID");
        await context.writeRaw(key, flipped(await context.readRaw(key), 40));
        await assert.rejects(storage.readMessage(key, SimulationMetadataSchema), CorruptBatchError);
      }
    },
  },
];
