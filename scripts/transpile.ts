import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import ts from "typescript";

/** What sources became: one process may transpile many copies of the product, which differ in a line. */
const transpiled = new Map<string, string>();

/**
 * Writes the TypeScript below a folder as plain JavaScript, beside it or into another folder, where what is up to
 * date stays. For processes that are started again and again: from TypeScript each start costs a second of a processor.
 */
export async function transpileBelow(folder: string, into = folder): Promise<void> {
  const names = await readdir(folder, { recursive: true });
  for (const name of names.filter((name) => /(?<!\.test|\.d)\.ts$/.test(name)))
    await transpile(join(folder, name), join(into, name.replace(/\.ts$/, ".js")));
}

async function transpile(source: string, target: string): Promise<void> {
  const { mtime } = await stat(source);
  const made = await stat(target).catch(() => undefined);
  if (made?.mtime.getTime() === mtime.getTime()) return;
  const text = await readFile(source, "utf8");
  const code = transpiled.get(text) ?? codeOf(text);
  transpiled.set(text, code);
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, code);
  await utimes(target, mtime, mtime);
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
