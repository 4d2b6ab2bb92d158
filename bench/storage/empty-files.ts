import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export const ticksPerFile = 100;

/** Batch files of a run as the storage would lay them out, empty and without a sync for each: listing does not look into them. */
export function makeEmptyFiles(root: string, runId: string, files: number): void {
  let folder = "";
  for (let index = 0; index < files; index++) {
    const path = join(root, runId, "raw", pathOf(index * ticksPerFile));
    if (dirname(path) !== folder) {
      folder = dirname(path);
      mkdirSync(folder, { recursive: true });
    }
    writeFileSync(path, "");
  }
}

function pathOf(firstTick: number): string {
  const digits = (value: number, count: number) => String(value).padStart(count, "0");
  const [outer, inner] = [Math.floor(firstTick / 1e8), Math.floor((firstTick % 1e8) / 1e5)];
  const name = `batch_${digits(firstTick, 19)}_${digits(firstTick + ticksPerFile - 1, 19)}.pb.br`;
  return join(digits(outer, 11), digits(inner, 3), name);
}
