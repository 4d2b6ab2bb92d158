import assert from "node:assert/strict";
import { create, type MessageShape } from "@bufbuild/protobuf";
import {
  CellSchema,
  CellState,
  SimulationMetadataSchema,
  type TickData,
  TickDataSchema,
} from "../../contracts/index.ts";
import { type ErrorCode, isTallymanError } from "../../errors/index.ts";
import { sleep } from "../../runtime/index.ts";
import type { BatchFileName, BatchStorage } from "../../storage/index.ts";

export const runId = "run-1";

/** Batches of every depth of folder, touching, overlapping, nested and apart; in tick order. */
export const exampleRanges: readonly (readonly [first: number, last: number])[] = [
  [0, 0],
  [0, 999],
  [0, 250_000],
  [1, 99_999],
  [1_000, 1_999],
  [99_500, 199_000],
  [100_000, 100_000],
  [199_999, 199_999],
  [50_000_000, 149_000_000],
  [99_999_999, 100_000_001],
  [100_000_000, 100_000_099],
  [150_000_000, 900_000_000],
  [300_000_000, 300_000_999],
  [Number.MAX_SAFE_INTEGER - 10, Number.MAX_SAFE_INTEGER],
];

/** What lies beside batch files and is none. */
export const strayNames = [
  "batch_0000000000000002000_0000000000000002999.pb.tmp",
  "batch_0000000000000002000_0000000000000002999.pb.br.partial",
  "batch_0000000000000002999_0000000000000002000.pb",
  "batch_9999999999999999999_9999999999999999999.pb",
  "batch_2000_2999.pb",
  "batch_0000002000.pb",
  "notes.txt",
];

/** Records whose bytes tell them apart: compressible, and different from run to run only by number. */
export function someRecords(count: number, bytes = 100): Buffer[] {
  return Array.from({ length: count }, (_, index) => Buffer.alloc(bytes, `record ${index} `));
}

export function bytesOf(value: number, length = 1): Uint8Array {
  return new Uint8Array(length).fill(value);
}

export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes);
}

/** A copy with one bit turned. */
export function flipped(bytes: Uint8Array, at: number, bit = 0): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}

export function tickData(simulationRunId: string, tick: number): TickData {
  const cell = create(CellSchema, { cellId: tick & 0xff, x: 1, y: 2, state: CellState.FOOD, value: 3 });
  return create(TickDataSchema, { tickNumber: BigInt(tick), simulationRunId, cells: [cell] });
}

export function metadata(simulationRunId: string): MessageShape<typeof SimulationMetadataSchema> {
  return create(SimulationMetadataSchema, { simulationRunId, initialSeed: 42n, samplingInterval: 10 });
}

/** A fixed order that is not the given one. */
export function shuffled<T>(items: readonly T[]): T[] {
  const order = (index: number) => (index * 7 + 5) % items.length;
  return items
    .map((item, index) => ({ item, at: order(index) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

export function ticksOf(files: readonly BatchFileName[]): (readonly [number, number])[] {
  return files.map(({ tickStart, tickEnd }) => [tickStart, tickEnd] as const);
}

export async function keysOf(storage: BatchStorage): Promise<string[]> {
  return (await storage.listBatchFiles(runId, undefined, 1_000)).files.map(({ key }) => key);
}

export async function recordsOf(storage: BatchStorage, key: string): Promise<Buffer[]> {
  await using batch = await storage.openBatch(key);
  const records: Buffer[] = [];
  for await (const { bytes } of batch.records()) records.push(toBuffer(bytes));
  return records;
}

export async function allPages(storage: BatchStorage, limit: number): Promise<(readonly BatchFileName[])[]> {
  const pages: (readonly BatchFileName[])[] = [];
  for (let token: string | undefined; ; ) {
    const page = await storage.listBatchFiles(runId, token, limit);
    pages.push(page.files);
    if (!page.truncated) return pages;
    token = page.nextToken;
  }
}

/** Object stores keep times in whole seconds. */
export async function nextSecond(): Promise<void> {
  await sleep(1_010 - (Date.now() % 1_000));
}

export async function rejects(promise: Promise<unknown>, code: ErrorCode, what = ""): Promise<void> {
  const outcome = await promise.then(
    () => "no error",
    (error: unknown) => error,
  );
  assert.ok(isTallymanError(outcome, code), `${code} expected ${what}, but got ${String(outcome)}`);
}
