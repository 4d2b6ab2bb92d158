import { createWriteStream } from "node:fs";
import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type TickData, TickDataSchema } from "../../src/contracts/index.ts";
import { environmentData } from "../../src/pipeline/indexers/sql/environment-data.ts";
import { copyChunks } from "../../src/pipeline/indexers/sql/per-tick-table.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";
import { type WorldSize, worldRunId, worldTicks } from "../storage/world.ts";

const ticksPerFile = 100;
const smallWorld: WorldSize = { walls: 4, foodAtStart: 8, foodMax: 10, organisms: 6 };

/** A run as batch files, and the same rows in COPY's binary form. */
export interface BenchFiles {
  readonly folder: string;
  readonly storageFolder: string;
  readonly runId: string;
  readonly rows: number;
  /** All rows. */
  readonly whole: string;
  /** The same in two parts. */
  readonly halves: readonly [string, string];
}

/** Writes a world's ticks into a folder that the server can read. */
export async function writeFiles({ ticks, small }: { ticks: number; small: boolean }): Promise<BenchFiles> {
  const folder = await mkdtemp(join(tmpdir(), "tallyman-bench-environment-"));
  await chmod(folder, 0o755);
  const world = () => (small ? worldTicks(ticks, 1, smallWorld) : worldTicks(ticks));
  const storageFolder = join(folder, "storage");
  const files = { folder, storageFolder, runId: worldRunId };
  const rows = await writeBatches(storageFolder, world());
  const [whole, first, second] = ["whole", "first", "second"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeCopy(whole, world());
  await writeCopy(
    first,
    part(world(), (index) => index < ticks / 2),
  );
  await writeCopy(
    second,
    part(world(), (index) => index >= ticks / 2),
  );
  return { ...files, rows, whole, halves: [first, second] };
}

async function writeBatches(rootDirectory: string, world: Iterable<TickData>): Promise<number> {
  const storage = new FileSystemStorage({ rootDirectory });
  let rows = 0;
  let batch: TickData[] = [];
  const write = async () => {
    const [first, last] = [batch[0], batch.at(-1)];
    if (!first || !last) return;
    const range = [Number(first.tickNumber), Number(last.tickNumber)] as const;
    await storage.writeBatch(worldRunId, ...range, batch, { schema: TickDataSchema });
    batch = [];
  };
  for (const tick of world) {
    rows += tick.cells.length;
    batch.push(tick);
    if (batch.length === ticksPerFile) await write();
  }
  await write();
  return rows;
}

function writeCopy(path: string, world: Iterable<TickData>): Promise<void> {
  return pipeline(Readable.from(copyChunks(environmentData, world)), createWriteStream(path));
}

function* part(world: Iterable<TickData>, isIn: (index: number) => boolean): Generator<TickData> {
  let index = 0;
  for (const tick of world) if (isIn(index++)) yield tick;
}
