import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { FileSystemStorage } from "../../src/storage/index.ts";
import type { Contender, Scenario } from "../harness/scenario.ts";
import { makeEmptyFiles, ticksPerFile } from "../storage/empty-files.ts";

interface Size {
  readonly files: number;
}

const runId = "run-1";
const filesPerRange = 10_000;

const ours: Contender<Size> = {
  name: "listBatchFiles",
  kind: "ours",
  settings: `range after range of ${filesPerRange} files, each in tick order`,
  async run({ folder, size, measure }) {
    const storage = new FileSystemStorage({ rootDirectory: folder });
    return measure(async () => {
      let listed = 0;
      for (let from = 0; from < size.files; from += filesPerRange) {
        const [first, last] = [from * ticksPerFile, (from + filesPerRange) * ticksPerFile - 1];
        const { files } = await storage.listBatchFiles(runId, undefined, filesPerRange, first, last);
        listed += files.length;
      }
      if (listed !== size.files) throw new Error(`${listed} files listed, of ${size.files}`);
      return listed;
    });
  },
};

/** The walk that one would write: every path under a folder. */
async function plainWalk(folder: string, paths: string[] = []): Promise<string[]> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await plainWalk(path, paths);
    else paths.push(path);
  }
  return paths;
}

const limit: Contender<Size> = {
  name: "plain walk",
  kind: "limit",
  settings: "readdir of every folder, names only, in no order",
  run: ({ folder, measure }) => measure(async () => (await plainWalk(folder)).length),
};

export const listing: Scenario<Size> = {
  name: "listing",
  what: "All batch files of a run listed by tick ranges, beside a plain walk through the same folders.",
  sizes: { quick: { files: 50_000 }, full: { files: 1_000_000 } },
  warmUp: { files: 50_000 },
  figures: { perSecond: "files/s" },
  goals: [{ against: "plain walk", ratio: 0.5, needsFullSize: true }],
  prepare: async (folder, { files }) => makeEmptyFiles(folder, runId, files),
  contenders: [ours, limit],
};
