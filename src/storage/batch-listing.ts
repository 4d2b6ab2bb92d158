import { type BatchFileName, folderLevels, parseBatchKey, rawFolderOf } from "./batch-file.ts";
import type { StorageDriver } from "./storage-driver.ts";

/** Which files of a run to list. */
export interface ListingRange {
  /** Files that end before this tick are left out. */
  readonly startTick: number;
  /** Files that begin after this tick are left out. */
  readonly endTick: number;
  /** Only files behind this one in tick order. */
  readonly after: BatchFileName | undefined;
}

/** A folder and the ticks at which its files can begin. */
interface TickFolder {
  readonly path: string;
  readonly level: number;
  readonly firstTick: number;
  readonly lastTick: number;
  /** A file in it, or below it, is at most this long. */
  readonly ticksMax: number;
}

/** Tick order: by first tick, then last tick, then key. */
export function inTickOrder(a: BatchFileName, b: BatchFileName): number {
  return a.tickStart - b.tickStart || a.tickEnd - b.tickEnd || (a.key < b.key ? -1 : Number(a.key > b.key));
}

/**
 * A run's files in tick order, folder by folder, in groups that are never empty. Only folders that can
 * hold a file of the range are read, each when its turn comes.
 */
export async function* listInTickOrder(
  driver: StorageDriver,
  runId: string,
  range: ListingRange,
): AsyncGenerator<readonly BatchFileName[]> {
  const flat = filesOf(`${runId}/`, await driver.listFolder(`${runId}/`), range);
  yield* interleave(flat, walk(driver, rootFolder(runId), range));
}

/**
 * The file of a run that ends last; of several, the one that is last in tick order. Goes through the
 * folders backwards and stops where no file can end later than the one found.
 */
export async function findLast(driver: StorageDriver, runId: string): Promise<BatchFileName | undefined> {
  const flat = filesOf(`${runId}/`, await driver.listFolder(`${runId}/`), everything);
  return findLastIn(driver, rootFolder(runId), flat.reduce(later, undefined));
}

const everything: ListingRange = { startTick: 0, endTick: Number.MAX_SAFE_INTEGER, after: undefined };

async function* walk(
  driver: StorageDriver,
  folder: TickFolder,
  range: ListingRange,
): AsyncGenerator<readonly BatchFileName[]> {
  const names = await driver.listFolder(folder.path);
  const children = childrenOf(folder, names).filter((child) => canHold(child, range));
  yield* interleave(filesOf(folder.path, names, range), walkAll(driver, children, range));
}

async function* walkAll(
  driver: StorageDriver,
  folders: readonly TickFolder[],
  range: ListingRange,
): AsyncGenerator<readonly BatchFileName[]> {
  for (const folder of folders) yield* walk(driver, folder, range);
}

/** Merges a sorted list into sorted groups; groups pass untouched while the list has nothing for them. */
async function* interleave(
  files: readonly BatchFileName[],
  groups: AsyncIterable<readonly BatchFileName[]>,
): AsyncGenerator<readonly BatchFileName[]> {
  let next = 0;
  for await (const group of groups) {
    const last = group.at(-1) as BatchFileName;
    const from = next;
    while (next < files.length && inTickOrder(files[next] as BatchFileName, last) < 0) next++;
    yield next === from ? group : [...files.slice(from, next), ...group].sort(inTickOrder);
  }
  if (next < files.length) yield files.slice(next);
}

async function findLastIn(
  driver: StorageDriver,
  folder: TickFolder,
  known: BatchFileName | undefined,
): Promise<BatchFileName | undefined> {
  const names = await driver.listFolder(folder.path);
  let best = filesOf(folder.path, names, everything).reduce(later, known);
  for (const child of childrenOf(folder, names).reverse()) {
    if (best && child.lastTick + child.ticksMax - 1 < best.tickEnd) break;
    best = await findLastIn(driver, child, best);
  }
  return best;
}

function later(best: BatchFileName | undefined, file: BatchFileName): BatchFileName {
  if (!best || file.tickEnd > best.tickEnd) return file;
  return file.tickEnd === best.tickEnd && inTickOrder(file, best) > 0 ? file : best;
}

function rootFolder(runId: string): TickFolder {
  return {
    path: rawFolderOf(runId),
    level: 0,
    firstTick: 0,
    lastTick: Number.MAX_SAFE_INTEGER,
    ticksMax: Number.MAX_SAFE_INTEGER,
  };
}

function childrenOf(folder: TickFolder, names: readonly string[]): TickFolder[] {
  const level = folderLevels[folder.level];
  if (!level) return [];
  const isFolder = (name: string) => name.length === level.digits && /^\d+$/.test(name);
  return names
    .filter(isFolder)
    .sort()
    .map((name) => {
      const firstTick = folder.firstTick + Number(name) * level.ticks;
      const lastTick = firstTick + level.ticks - 1;
      const path = `${folder.path}${name}/`;
      return { path, level: folder.level + 1, firstTick, lastTick, ticksMax: level.ticks };
    });
}

function canHold(folder: TickFolder, { startTick, endTick, after }: ListingRange): boolean {
  const overlaps = folder.firstTick <= endTick && folder.lastTick + folder.ticksMax - 1 >= startTick;
  return overlaps && (after === undefined || folder.lastTick >= after.tickStart);
}

function filesOf(folder: string, names: readonly string[], range: ListingRange): BatchFileName[] {
  const files: BatchFileName[] = [];
  for (const name of names) {
    const file = name.startsWith("batch_") ? parseBatchKey(folder + name) : undefined;
    if (file && isInside(file, range)) files.push(file);
  }
  return files.sort(inTickOrder);
}

function isInside(file: BatchFileName, { startTick, endTick, after }: ListingRange): boolean {
  if (file.tickStart > endTick || file.tickEnd < startTick) return false;
  return after === undefined || inTickOrder(file, after) > 0;
}
