import { symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transpileBelow } from "../../scripts/transpile.ts";
import { type Child, type ChildOptions, startChild as start } from "../../src/testing/index.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const plainRoot = join(root, ".plain");

/** Brings the plain JavaScript that tests start their processes from up to date. */
export async function transpileForChildren(): Promise<void> {
  for (const tree of ["src", "tests"]) await transpileBelow(join(root, tree), join(plainRoot, tree));
  for (const part of ["package.json", "sql", "dist"])
    await symlink(join(root, part), join(plainRoot, part)).catch((error) => {
      if (error.code !== "EEXIST") throw error;
    });
}

/** Starts a script of this repository as a process of its own, from plain JavaScript. */
export function startChild(script: URL, options?: ChildOptions): Child {
  return start(plain(script), options);
}

/** The plain JavaScript of a script of this repository. */
export function plain(script: URL): URL {
  const path = relative(root, fileURLToPath(script));
  return pathToFileURL(join(plainRoot, path.replace(/\.ts$/, ".js")));
}
