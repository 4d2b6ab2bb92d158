/**
 * Configuration: one file, three ways to override it, one frozen result.
 *
 * Four layers are laid over each other: defaults, `tallyman.config.yaml`, environment, flags. Only the
 * file may hold references (`${NAME}`, `${?NAME}`), because only there is text written by hand; a
 * password in the environment may contain any characters. The result is resolved, validated and
 * frozen once; nobody downstream checks it again.
 *
 * Three rules hold everywhere. Whatever is wrong is reported at once: syntax, unknown keys, ranges and
 * misspelt resources end up in one error, each with its line or the variable or flag it came from.
 * No message and no printed configuration shows a secret: messages describe a wrong value by its kind,
 * printing hides by key and by URL. And the schema is the only description: key spellings, suggestions,
 * the JSON Schema and the settings page are all read off it.
 *
 * Services are bound to resources by URIs, `usage:resource?param=value`. Fixed keys, usages and
 * resource names may be written in kebab-case or camelCase; names and options that users choose are
 * kept as they are written. Which classes exist is not known here: the caller passes the set.
 */
export type { KnownTypes } from "./bindings.ts";
export type { Config, DatabaseConfig, ResourceConfig, ServiceConfig } from "./config.ts";
export { configJsonSchema } from "./config-json-schema.ts";
export { type ConfigReferenceRow, configReference } from "./config-reference.ts";
export type { ConfigFlags, Environment } from "./config-sources.ts";
export { configFileName, findConfigFile, type LoadConfigOptions, loadConfig } from "./load-config.ts";
export { hideSecrets, printConfig } from "./print-config.ts";
export type { Problem as ConfigProblem } from "./problems.ts";
export {
  formatResourceUri,
  parseResourceUri,
  type ResourceUri,
  type ResourceUsage,
  resourceUsages,
} from "./resource-uri.ts";
export { starterConfig } from "./starter-config.ts";
