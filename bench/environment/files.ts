import { createWriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type TickData, TickDataSchema } from "../../src/contracts/index.ts";
import { environmentData } from "../../src/pipeline/indexers/sql/environment-data.ts";
import { copyChunks } from "../../src/pipeline/indexers/sql/per-tick-table.ts";
import { FileSystemStorage } from "../../src/storage/index.ts";
import { worldRunId, worldTicks } from "../storage/world.ts";

const ticksPerFile = 100;

/** Where the parts of a folder are that {@link writeFiles} filled. */
export function filesIn(folder: string) {
  return {
    storageFolder: join(folder, "storage"),
    runId: worldRunId,
    /** All rows in COPY's binary form. */
    whole: join(folder, "whole"),
    /** The same in two parts. */
    halves: [join(folder, "first"), join(folder, "second")],
    /** How many rows, as text. */
    rowCount: join(folder, "rows"),
  } as const;
}

/** Writes a world's ticks as batch files, and the same rows in COPY's binary form. */
export async function writeFiles(folder: string, ticks: number): Promise<void> {
  const world = () => worldTicks(ticks);
  const { storageFolder, whole, halves, rowCount } = filesIn(folder);
  const rows = await writeBatches(storageFolder, world());
  await writeFile(rowCount, String(rows));
  await writeCopy(whole, world());
  await writeCopy(
    halves[0],
    part(world(), (index) => index < ticks / 2),
  );
  await writeCopy(
    halves[1],
    part(world(), (index) => index >= ticks / 2),
  );
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
