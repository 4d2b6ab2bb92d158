import { didYouMean } from "../../errors/index.ts";
import { type Config, formatResourceUri, type ResourceUri, type ServiceConfig } from "../config/index.ts";
import { configInvalid, type Problem } from "../config/problems.ts";
import type { Port } from "./port.ts";
import type { ResourceRegistry } from "./resource-registry.ts";
import type { ServiceRegistry, ServiceType } from "./service-registry.ts";

/** Tallyman's own service that sweeps the topics of the configured database. */
export const topicRetentionName = "topic-retention";

/** The types that a configuration is checked against. */
export interface ServiceTypes {
  readonly services: ServiceRegistry;
  readonly resources: ResourceRegistry;
}

/**
 * Finds classes that do not exist and ports that are not bound as their service needs it; opens nothing.
 *
 * @example
 * ```ts
 * const types = { services: builtInServices(), resources: builtInResources() };
 * const config = await loadConfig({ check: (loaded) => wiringProblems(loaded, types) });
 * ```
 */
export function wiringProblems(config: Config, types: ServiceTypes): readonly Problem[] {
  return [
    ...resourceProblems(config, types),
    ...Object.entries(config.services).flatMap(([name, service]) =>
      serviceProblems(name, service, config, types),
    ),
  ];
}

/** @throws TallymanError CONFIG_INVALID with all that {@link wiringProblems} finds */
export function checkWiring(config: Config, types: ServiceTypes): void {
  const problems = wiringProblems(config, types);
  if (problems.length > 0) throw configInvalid(problems, undefined, new Map());
}

function resourceProblems(config: Config, { resources }: ServiceTypes): Problem[] {
  return Object.entries(config.resources).flatMap(([name, { className }]) =>
    resources.find(className)
      ? []
      : [{ path: ["resources", name, "className"], message: resources.unknown(className) }],
  );
}

function serviceProblems(
  name: string,
  service: ServiceConfig,
  config: Config,
  types: ServiceTypes,
): Problem[] {
  if (name === topicRetentionName) {
    return [{ path: ["services", name], message: "this name is taken by a service of Tallyman's own." }];
  }
  const type = types.services.find(service.className);
  if (!type) {
    return [{ path: ["services", name, "className"], message: types.services.unknown(service.className) }];
  }
  const path = (port: string) => ["services", name, "resources", port];
  const strangers = Object.keys(service.resources)
    .filter((port) => !Object.hasOwn(type.ports, port))
    .map((port) => ({ path: path(port), message: unknownPort(service.className, type, port) }));
  const faults = Object.entries(type.ports).flatMap(([portName, port]) => {
    const fault = portFault(service, portName, port, config, types);
    return fault === undefined ? [] : [{ path: path(portName), message: fault }];
  });
  return [...strangers, ...faults];
}

function unknownPort(className: string, { ports }: ServiceType, port: string): string {
  const known = Object.keys(ports);
  const hint = known.length === 0 ? "It has none." : didYouMean(port, known);
  return `${className} has no port '${port}'. ${hint}`;
}

function portFault(
  service: ServiceConfig,
  portName: string,
  port: Port,
  config: Config,
  types: ServiceTypes,
): string | undefined {
  const uris = service.resources[portName] ?? [];
  const wanted = `${port.usage}:<resource>`;
  const [uri] = uris;
  if (!uri) {
    return port.isOptional ? undefined : `${service.className} needs this port: bind it with ${wanted}.`;
  }
  if (uris.length > 1) return `${service.className} takes one resource here, but ${uris.length} are bound.`;
  if (uri.usage !== port.usage) {
    return `${service.className} takes ${wanted} here, but it is bound with ${formatAddress(uri)}.`;
  }
  return classFault(service, port, uri, config) ?? usageFault(uri, config, types);
}

function classFault(
  service: ServiceConfig,
  { resourceClass }: Port,
  uri: ResourceUri,
  config: Config,
): string | undefined {
  const { className } = config.resources[uri.resource] ?? {};
  if (resourceClass === undefined || className === undefined || className === resourceClass) return undefined;
  return `${service.className} takes a ${resourceClass} here, but ${uri.resource} is a ${className}.`;
}

function usageFault(uri: ResourceUri, config: Config, { resources }: ServiceTypes): string | undefined {
  const className = config.resources[uri.resource]?.className ?? "";
  const usages = resources.find(className)?.usages;
  if (!usages || usages.includes(uri.usage)) return undefined;
  return `${uri.resource} is a ${className}, which can't be used as ${uri.usage}. It offers: ${usages.join(", ")}.`;
}

/** Without parameters: they may hold secrets. */
function formatAddress(uri: ResourceUri): string {
  return formatResourceUri({ ...uri, parameters: {} });
}
