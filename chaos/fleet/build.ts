import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The product and the fleet's children as plain JavaScript, in a folder of their own. Processes are started all
 * the time while faults strike, and from TypeScript each start would cost a second of a processor.
 *
 * @returns where the script of a role is
 */
export async function buildChildren(folder: string): Promise<(role: string) => URL> {
  for (const source of [
    ...(await sourcesBelow("src")),
    ...(await sourcesBelow("chaos/fleet")),
    "chaos/random.ts",
  ])
    await transpile(source, folder);
  await cp(join(root, "package.json"), join(folder, "package.json"));
  for (const shared of ["node_modules", "sql"]) await symlink(join(root, shared), join(folder, shared));
  return (role) => pathToFileURL(join(folder, `chaos/fleet/${role}.child.js`));
}

async function sourcesBelow(folder: string): Promise<string[]> {
  const names = await readdir(join(root, folder), { recursive: true });
  return names.filter((name) => /(?<!\.test|\.d)\.ts$/.test(name)).map((name) => join(folder, name));
}

async function transpile(source: string, folder: string): Promise<void> {
  const { outputText } = ts.transpileModule(await readFile(join(root, source), "utf8"), {
    fileName: source,
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2023,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
    },
  });
  const target = join(folder, source.replace(/\.ts$/, ".js"));
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, outputText);
}
