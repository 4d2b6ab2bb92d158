import { execFileSync } from "node:child_process";
import { cp, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** What sources became: one process builds many copies of the product, which differ in a line. */
const transpiled = new Map<string, string>();

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
  for (const tree of ["src", "chaos"])
    for (const source of await sourcesBelow(join(folder, tree))) await transpile(source);
  return (role) => pathToFileURL(join(folder, `chaos/fleet/${role}.child.js`));
}

async function sourcesBelow(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => /(?<!\.test|\.d)\.ts$/.test(name)).map((name) => join(folder, name));
}

async function transpile(source: string): Promise<void> {
  const text = await readFile(source, "utf8");
  const code = transpiled.get(text) ?? codeOf(text);
  transpiled.set(text, code);
  await writeFile(source.replace(/\.ts$/, ".js"), code);
}

function codeOf(text: string): string {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2023,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  });
  return outputText;
}
