import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { TallymanError } from "../errors/index.ts";

/**
 * Loads a user's module; what it exports may also be in its default export.
 *
 * @param key the export that must be there
 * @throws TallymanError USAGE when it can't be loaded, or lacks the export
 */
export async function loadModule<T extends object>(
  file: string,
  key: keyof T & string,
  command: string,
): Promise<T> {
  if (!existsSync(file)) throw new TallymanError("USAGE", `There is no file ${file}.`);
  const loaded = await import(pathToFileURL(resolve(file)).href).catch((cause: NodeJS.ErrnoException) => {
    const isTypeScript = cause.code === "ERR_UNKNOWN_FILE_EXTENSION";
    const hint = isTypeScript
      ? ` For TypeScript run it with tsx: NODE_OPTIONS='--import tsx' tallyman ${command} …`
      : "";
    throw new TallymanError("USAGE", `${file} can't be loaded: ${cause.message}.${hint}`, { cause });
  });
  const module = (loaded[key] ? loaded : loaded.default) as T | undefined;
  if (module?.[key]) return module;
  throw new TallymanError("USAGE", `${file} exports no \`${key}\`. See \`tallyman ${command} --help\`.`);
}
