import { execFileSync } from "node:child_process";
import { cp, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transpileBelow } from "../../scripts/transpile.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The product and the fleet's children as plain JavaScript, in a folder of their own. Processes are started all
 * the time while faults strike, and from TypeScript each start would cost a second of a processor.
 *
 * @param patch file with a bug that is planted in this copy
 * @returns where the script of a role is
 */
export async function buildChildren(
  folder: string,
  patch: string | undefined,
): Promise<(role: string) => URL> {
  for (const part of ["src", "sql", "chaos/fleet", "chaos/random.ts", "package.json"])
    await cp(join(root, part), join(folder, part), { recursive: true });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  if (patch !== undefined) execFileSync("git", ["apply", patch], { cwd: folder });
  for (const tree of ["src", "chaos"]) await transpileBelow(join(folder, tree));
  return (role) => pathToFileURL(join(folder, `chaos/fleet/${role}.child.js`));
}
