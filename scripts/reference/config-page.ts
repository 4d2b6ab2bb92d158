import { builtInResources, builtInServices, configReference, resourceUsages } from "../../src/app/index.ts";
import { createProgram } from "../../src/cli/program.ts";
import { type OptionField, publicInterfaces } from "./interface-options.ts";
import { code, page, table } from "./markdown.ts";

/** The interfaces of the options of each built-in class, by class; none: it has no options. */
const optionsOf: Readonly<Record<string, readonly string[]>> = {
  FileSystemStorage: ["FileSystemStorageOptions"],
  S3Storage: ["S3StorageOptions"],
  PostgresTopic: ["TopicResourceOptions"],
  NatsTopic: ["NatsTopicsOptions", "TopicResourceOptions"],
  TickQueue: ["RecordQueueOptions"],
  MetadataQueue: [],
  InMemoryRetryTracker: [],
  PostgresDatabase: [],
  SimulationEngine: ["SimulationEngineOptions"],
  PersistenceService: ["PersistenceOptions"],
  MetadataPersistenceService: ["MetadataPersistenceOptions"],
  MetadataIndexer: ["MetadataIndexerOptions"],
  DummyIndexer: ["BatchIndexerOptions"],
  EnvironmentIndexer: ["BatchIndexerOptions"],
  OrganismIndexer: ["BatchIndexerOptions"],
  StatisticsIndexer: ["BatchIndexerOptions"],
};

/** Every setting of the configuration file, and the options of every class that it may name. */
export function configPage(): string {
  const interfaces = publicInterfaces(new Set(Object.values(optionsOf).flat()));
  return page(
    "Configuration",
    "the configuration's schema in `src/app/config` and the options of the built-in classes",
    "`tallyman init` writes a commented `tallyman.config.yaml`, `tallyman config print` shows what is in force. Flags win over environment variables, those over the file, the file over the defaults. Keys may be written in camelCase or kebab-case, and values may refer to environment variables, as the file that `init` writes shows. For completion in editors there is a [JSON Schema](../config.schema.json).",
    "## Settings",
    table(["setting", "type", "default", "variable", "flag", "meaning"], settingRows()),
    "## Resources",
    `A service's port is bound to a resource by \`usage:resource?parameter=value\`. Usages: ${resourceUsages.map(code).join(", ")}.`,
    ...resourceSections(interfaces),
    "## Services",
    "In brackets: a port that may be left unbound. Every service has `autostart` and `restart` as above, and the file's `runId` unless its options name another.",
    ...serviceSections(interfaces),
  );
}

function settingRows(): string[][] {
  const flags = commandLineFlags();
  return configReference().map((row) => [
    row.path === "" ? "the file itself" : code(row.path),
    row.type,
    code(row.default),
    code(row.variable),
    row.flag !== undefined && flags.has(row.flag) ? code(row.flag) : "",
    row.description,
  ]);
}

/** The flags that some command really has. */
function commandLineFlags(): ReadonlySet<string> {
  const program = createProgram();
  const options = [program, ...program.commands].flatMap((command) => command.options);
  return new Set(options.flatMap(({ long }) => (long ? [long] : [])));
}

type Interfaces = ReadonlyMap<string, readonly OptionField[]>;

function resourceSections(interfaces: Interfaces): string[] {
  const registry = builtInResources();
  return registry.classNames.flatMap((className) => {
    const usages = registry.find(className)?.usages ?? [];
    return [
      `### ${className}`,
      `Usages: ${usages.map(code).join(", ")}.`,
      optionTable(className, interfaces),
    ];
  });
}

function serviceSections(interfaces: Interfaces): string[] {
  const registry = builtInServices();
  return registry.classNames.flatMap((className) => {
    const ports = Object.entries(registry.find(className)?.ports ?? {}).map(
      ([name, { usage, isOptional }]) =>
        isOptional ? `[${code(name)}: ${code(usage)}]` : `${code(name)}: ${code(usage)}`,
    );
    return [`### ${className}`, `Ports: ${ports.join(", ")}.`, optionTable(className, interfaces)];
  });
}

function optionTable(className: string, interfaces: Interfaces): string {
  const names = optionsOf[className];
  if (!names) throw new Error(`scripts/reference/config-page.ts does not know the options of ${className}`);
  const [first = ""] = Object.keys(optionsOf).filter((other) => String(optionsOf[other]) === String(names));
  if (names.length === 0) return "No options.";
  if (first !== className) return `Options: those of [${first}](#${first.toLowerCase()}).`;
  const fields = names.flatMap((name) => interfaces.get(name) ?? []);
  return table(
    ["option", "type", "default", "meaning"],
    fields.map((field) => [code(field.name), code(field.type), field.default, field.meaning]),
  );
}
