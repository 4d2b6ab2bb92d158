import { TallymanError } from "../errors/index.ts";
import { type BatchStorage, openStorage, storageClassNames } from "../storage/index.ts";
import type { Config } from "./config/index.ts";

/** Which storage of the configuration to open. */
export interface OpenStorageOptions {
  /** Name of the resource; may be left out when there is one storage only. */
  readonly name?: string | undefined;
  /** Where a relative `rootDirectory` begins: the configuration file's folder. Default: the working directory. */
  readonly folder?: string | undefined;
}

/**
 * Opens a storage that the configuration describes: the resource of that name, else the only storage
 * there is, else, when there is none, files in `.tallyman/storage`.
 *
 * @throws TallymanError CONFIG_INVALID when the name is no storage, or one must be chosen; INVALID_OPTION
 */
export function openConfiguredStorage(config: Config, options: OpenStorageOptions = {}): BatchStorage {
  const isStorage = ([, { className }]: [string, { className: string }]) =>
    storageClassNames.includes(className);
  const storages = new Map(Object.entries(config.resources).filter(isStorage));
  const [first] = storages.keys();
  const name = options.name ?? first;
  if (name === undefined) return openStorage({ className: "FileSystemStorage", options: {} }, options.folder);
  const resource = storages.get(name);
  if (resource && (options.name !== undefined || storages.size === 1))
    return openStorage(resource, options.folder);
  const known = [...storages.keys()].join(", ") || "none";
  const fault = resource ? "The configuration has several storages" : `There is no storage '${name}'`;
  throw new TallymanError("CONFIG_INVALID", `${fault}. Name one with --storage: ${known}.`, {
    details: { name, known: [...storages.keys()] },
  });
}
