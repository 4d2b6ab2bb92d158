import { resolve } from "node:path";
import { type Bindings, bindResources, type KnownTypes, simpleClassName, typeProblems } from "./bindings.ts";
import type { Config, DatabaseConfig, ResourceConfig, ServiceConfig } from "./config.ts";
import type { ConfigFile } from "./config-file.ts";
import { configSchema, embeddedDefaults, type ParsedConfig } from "./config-schema.ts";
import { conform } from "./config-shape.ts";
import {
  type ConfigFlags,
  databaseProblems,
  type Environment,
  environmentLayer,
  flagLayer,
  type Layer,
  mergeLayers,
} from "./config-sources.ts";
import { configInvalid, type Problem, schemaProblems } from "./problems.ts";
import { expandReferences } from "./references.ts";
import { deepFreeze, mapEntries, type Tree } from "./tree.ts";

/** Everything that the configuration is made of. */
export interface ConfigInputs {
  readonly file: ConfigFile | undefined;
  readonly flags: ConfigFlags;
  readonly environment: Environment;
  readonly directory: string;
  readonly knownTypes: KnownTypes;
  readonly check?: ((config: Config) => readonly Problem[]) | undefined;
}

/** Resolve → validate → freeze. All problems of all layers are thrown together. */
export function resolveConfig(inputs: ConfigInputs): Config {
  const problems: Problem[] = [...(inputs.file?.problems ?? [])];
  const { tree: merged, sources } = layersOf(inputs, problems).reduce(mergeLayers);
  const tree = conform(merged, problems) as Tree;
  problems.push(...databaseProblems(tree));

  const parsed = configSchema.safeParse(tree);
  if (!parsed.success) problems.push(...schemaProblems(parsed.error.issues, tree));
  problems.push(...typeProblems(tree, inputs.knownTypes));
  const bindings = bindResources(tree, problems);
  if (!parsed.success || problems.length > 0) throw configInvalid(problems, inputs.file, sources);

  const folderBase = sources.has("database.embedded.folder") ? undefined : inputs.file?.folder;
  const config = deepFreeze(assemble(parsed.data, bindings, folderBase ?? inputs.directory));
  const further = inputs.check?.(config) ?? [];
  if (further.length > 0) throw configInvalid(further, inputs.file, sources);
  return config;
}

/** Lowest first. References are expanded in the file only: a password may hold the characters `${`. */
function layersOf(inputs: ConfigInputs, problems: Problem[]): [Layer, Layer, Layer] {
  const { file, flags, environment } = inputs;
  const environmentSettings = environmentLayer(environment);
  const flagSettings = flagLayer(flags);
  const runId = [flagSettings, environmentSettings].map(({ tree }) => tree.runId).find(Boolean);
  const fileTree = expandFile(file?.tree ?? {}, environment, runId as string | undefined, problems);
  return [{ tree: fileTree, sources: new Map() }, environmentSettings, flagSettings];
}

function expandFile(
  tree: Tree,
  environment: Environment,
  overridingRunId: string | undefined,
  problems: Problem[],
): Tree {
  const ownRunId = () => expandReferences({ runId: tree.runId ?? tree["run-id"] }, { environment }, []).runId;
  const runId = overridingRunId ?? (ownRunId() as string | undefined);
  return conform(expandReferences(tree, { environment, runId }, problems), problems) as Tree;
}

function assemble(parsed: ParsedConfig, bindings: Record<string, Bindings>, folderBase: string): Config {
  return {
    ...parsed,
    database: databaseOf(parsed.database, folderBase),
    resources: mapEntries(parsed.resources, (resource) => resourceOf(resource)),
    services: mapEntries(
      parsed.services,
      (service, name): ServiceConfig => ({
        ...resourceOf(service, parsed.runId),
        resources: bindings[name] ?? {},
        autostart: service.autostart,
        restart: service.restart,
      }),
    ),
  };
}

function databaseOf(
  { url, embedded, ...rest }: ParsedConfig["database"],
  folderBase: string,
): DatabaseConfig {
  if (url !== undefined) return { ...rest, url };
  const { folder, ...others } = embedded ?? embeddedDefaults;
  return { ...rest, embedded: { ...others, folder: resolve(folderBase, folder) } };
}

type ParsedClass = Pick<ParsedConfig["resources"][string], "className" | "type" | "options">;

function resourceOf({ className, type, options }: ParsedClass, runId?: string): ResourceConfig {
  return {
    className: simpleClassName(className ?? type ?? ""),
    options: runId === undefined ? options : { runId, ...options },
  };
}
