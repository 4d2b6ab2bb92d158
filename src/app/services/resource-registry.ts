import type { DescMessage } from "@bufbuild/protobuf";
import type { Monitorable } from "../../monitoring/index.ts";
import type { ResourceUsage } from "../config/index.ts";
import type { Tallyman } from "../tallyman.ts";
import { TypeRegistry } from "./type-registry.ts";

/** What a resource is made of. */
export interface ResourceContext {
  /** As in the configuration. */
  readonly name: string;
  /** As in the configuration, not checked yet; values from `${NAME}` are text. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Where relative paths begin: the configuration file's folder. */
  readonly folder: string;
  /** What the process has opened: database, topics, command bus. */
  readonly tallyman: Tallyman;
  /** Opens something once for all resources of the manager that ask with this key, and closes it with them. */
  shared<T extends AsyncDisposable>(key: string, open: () => Promise<T>): Promise<T>;
}

/** One port's wish. */
export interface Binding {
  readonly service: string;
  readonly port: string;
  readonly usage: ResourceUsage;
  /** What stands behind the question mark of the URI. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Type of the messages, for a topic. */
  readonly schema?: DescMessage;
}

/** A resource, open. Shared by all services that are bound to it. */
export interface OpenResource {
  /** What the port gets: the resource itself, or a wrapper of its own. Called once per port and life of the manager. */
  bind(binding: Binding): unknown;
  /** How the resource is watched; a wrapper that is Monitorable is watched by itself. */
  readonly monitorable?: Monitorable;
  /** Closes it and every wrapper that it handed out, after all services have stopped. */
  close?(): Promise<void>;
}

/** A class of resources: what it can be used for, and how it is opened. */
export interface ResourceType {
  readonly usages: readonly ResourceUsage[];
  open(context: ResourceContext): OpenResource | Promise<OpenResource>;
}

/**
 * The classes of resources that a configuration may name. Open: add your own beside the built-in ones.
 *
 * @example
 * ```ts
 * const resources = builtInResources().registerResourceType("FtpStorage", {
 *   usages: ["storage-read"],
 *   open: ({ options }) => {
 *     const storage = new BatchStorage(new FtpDriver(options));
 *     return { bind: () => storage, monitorable: storage, close: () => storage.close() };
 *   },
 * });
 * ```
 */
export class ResourceRegistry extends TypeRegistry<ResourceType> {
  constructor() {
    super("resource");
  }

  /** @throws TallymanError INVALID_STATE for a name that is taken, INVALID_OPTION for one that is none */
  registerResourceType(className: string, type: ResourceType): this {
    this.add(className, type);
    return this;
  }
}
