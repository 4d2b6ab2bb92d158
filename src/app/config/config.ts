import type { ParsedConfig } from "./config-schema.ts";
import type { ResourceUri } from "./resource-uri.ts";

/** Which PostgreSQL to use: exactly one of `url` and `embedded` is set. */
export type DatabaseConfig = Omit<ParsedConfig["database"], "url" | "embedded"> &
  Readonly<
    | { url: string; embedded?: undefined }
    | { url?: undefined; embedded: Readonly<{ folder: string; port?: number | undefined }> }
  >;

/** A resource of the pipeline: storage, topic, database, queue. */
export interface ResourceConfig {
  /** Class of the resource, without a package. */
  readonly className: string;
  /** Options of the class, checked by the class itself; values from `${NAME}` are text. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** A service of the pipeline and the resources that its ports are bound to. */
export interface ServiceConfig extends ResourceConfig {
  /** By port; the resource names are those of the `resources` block, whatever spelling was used. */
  readonly resources: Readonly<Record<string, readonly ResourceUri[]>>;
  /** Whether the service starts with the others. */
  readonly autostart: boolean;
  /** What happens when the service fails. */
  readonly restart: Readonly<ParsedConfig["services"][string]["restart"]>;
}

/** The whole configuration: validated, complete with defaults, and frozen to its leaves. */
export interface Config {
  /** The run that services work on; also in each service's `options.runId` unless it names its own. */
  readonly runId?: string | undefined;
  readonly database: Readonly<DatabaseConfig>;
  readonly settings: Readonly<ParsedConfig["settings"]>;
  readonly server: Readonly<ParsedConfig["server"]>;
  readonly scheduler: Readonly<{ coordinator: Readonly<ParsedConfig["scheduler"]["coordinator"]> }>;
  readonly resources: Readonly<Record<string, ResourceConfig>>;
  readonly services: Readonly<Record<string, ServiceConfig>>;
}
