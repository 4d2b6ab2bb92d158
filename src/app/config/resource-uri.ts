import { closest, TallymanError } from "../../errors/index.ts";
import { kebabCase } from "./spelling.ts";

/** What a service may want from a resource; the word before the colon of a resource URI. */
export const resourceUsages = [
  "storage-read",
  "storage-write",
  "topic-read",
  "topic-write",
  "db-meta-read",
  "db-meta-write",
  "db-coordinator",
  "db-idempotency",
  "db-tables",
  "retry-tracker",
  "dlq",
  "queue-in",
  "queue-out",
] as const;

/** One of {@link resourceUsages}. */
export type ResourceUsage = (typeof resourceUsages)[number];

/** A binding of a service's port to a resource: `usage:resource?param=value`. */
export interface ResourceUri {
  /** What the service wants from the resource, always in kebab-case. */
  readonly usage: ResourceUsage;
  /** The resource's name in the `resources` block. */
  readonly resource: string;
  /** Parameters of this binding alone, percent-decoded; empty when none were given. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Names of resources, services and ports: what can stand in a URI without escaping. */
export const namePattern = /^[A-Za-z][A-Za-z0-9_-]*$/;

/**
 * Reads a resource URI. Both spellings of a usage are understood: `topic-read:` and `topicRead:`.
 * Pure; safe to call from anywhere.
 *
 * @param text - For example `topic-read:batch-topic?consumerGroup=dummy-indexer`.
 * @returns The parts, frozen. The resource's name is not looked up here.
 * @throws {@link TallymanError} RESOURCE_URI_INVALID, with the supported usages when the usage is
 * unknown. Values of parameters never appear in the message: they may be secrets.
 *
 * @example
 * ```ts
 * parseResourceUri("topicRead:batchTopic?consumerGroup=dummy-indexer");
 * // { usage: "topic-read", resource: "batchTopic", parameters: { consumerGroup: "dummy-indexer" } }
 * ```
 */
export function parseResourceUri(text: string): ResourceUri {
  const question = text.indexOf("?");
  const address = question < 0 ? text : text.slice(0, question);
  const colon = address.indexOf(":");
  if (colon < 0) throw invalid(address, "has no usage. Write it as usage:resource");
  const usage = parseUsage(address, address.slice(0, colon));
  const resource = address.slice(colon + 1);
  if (!namePattern.test(resource)) {
    throw invalid(address, "has no valid resource name after the colon. Use letters, digits, '-' and '_'");
  }
  const parameters = question < 0 ? {} : parseParameters(address, text.slice(question + 1));
  return Object.freeze({ usage, resource, parameters: Object.freeze(parameters) });
}

/**
 * Writes a resource URI; the inverse of {@link parseResourceUri}.
 *
 * @example
 * ```ts
 * formatResourceUri({ usage: "dlq", resource: "indexer-dlq", parameters: {} }); // "dlq:indexer-dlq"
 * ```
 */
export function formatResourceUri(uri: ResourceUri): string {
  const query = Object.entries(uri.parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
  return `${uri.usage}:${uri.resource}${query && `?${query}`}`;
}

function parseUsage(address: string, spelled: string): ResourceUsage {
  const name = kebabCase(spelled);
  const usage = resourceUsages.find((known) => known === name);
  if (usage) return usage;
  const nearest = closest(name, resourceUsages);
  const hint = nearest ? ` Did you mean '${nearest}'?` : "";
  throw invalid(
    address,
    `has the unknown usage '${spelled}'.${hint} Supported: ${resourceUsages.join(", ")}`,
  );
}

function parseParameters(address: string, query: string): Record<string, string> {
  const parameters = new Map<string, string>();
  for (const pair of query.split("&")) {
    const [name, value] = parseParameter(address, pair);
    if (parameters.has(name)) throw invalid(address, `has the parameter '${name}' twice. Keep one`);
    parameters.set(name, value);
  }
  return Object.fromEntries(parameters);
}

function parseParameter(address: string, pair: string): [name: string, value: string] {
  const equals = pair.indexOf("=");
  const name = equals < 0 ? "" : pair.slice(0, equals);
  if (!namePattern.test(name)) {
    throw invalid(
      address,
      "has a parameter without a valid name. Write parameters as ?name=value&name=value",
    );
  }
  try {
    return [name, decodeURIComponent(pair.slice(equals + 1))];
  } catch {
    throw invalid(address, `has a broken percent sequence in parameter '${name}'. Write a literal % as %25`);
  }
}

function invalid(address: string, problem: string): TallymanError {
  return new TallymanError("RESOURCE_URI_INVALID", `Resource URI '${address}' ${problem}.`, {
    details: { address },
  });
}
