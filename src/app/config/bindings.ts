import { didYouMean, TallymanError } from "../../errors/index.ts";
import type { Problem } from "./problems.ts";
import { parseResourceUri, type ResourceUri } from "./resource-uri.ts";
import { matchSpelling } from "./spelling.ts";
import { entriesOf, isTree, mapEntries, type Path, type Tree } from "./tree.ts";

/** Ports of one service, each with the resources bound to it. */
export type Bindings = Record<string, readonly ResourceUri[]>;

/** Class names that exist; a kind that is left out is not checked. */
export interface KnownTypes {
  readonly resources?: Iterable<string> | undefined;
  readonly services?: Iterable<string> | undefined;
}

/**
 * Reads the resource URIs of all services and looks their resources up. Works on the unvalidated
 * tree and passes over what has the wrong form, so that its problems stand beside the schema's.
 */
export function bindResources(tree: Tree, problems: Problem[]): Record<string, Bindings> {
  const known = entriesOf(tree.resources).map(([name]) => name);
  return mapEntries(isTree(tree.services) ? tree.services : {}, (service, name) => {
    const ports = isTree(service) && isTree(service.resources) ? service.resources : {};
    const path = ["services", name, "resources"];
    return mapEntries(ports, (uris, port) => bindPort(uris, [...path, port], known, problems));
  });
}

/** Checks the class names of services and resources against the ones that exist. */
export function typeProblems(tree: Tree, knownTypes: KnownTypes): Problem[] {
  return (["resources", "services"] as const).flatMap((kind) => {
    const known = knownTypes[kind];
    return known
      ? entriesOf(tree[kind]).flatMap(([name, item]) => classProblems([kind, name], item, [...known]))
      : [];
  });
}

/** `org.example.DummyIndexer` names the class DummyIndexer. */
export function simpleClassName(className: string): string {
  return className.slice(className.lastIndexOf(".") + 1);
}

function classProblems(path: Path, item: unknown, known: readonly string[]): Problem[] {
  const spelled = entriesOf(item).filter(([key]) => key === "className" || key === "type");
  return spelled.flatMap(([key, className]) => {
    if (typeof className !== "string" || known.includes(simpleClassName(className))) return [];
    const message = `unknown class '${className}'. ${didYouMean(simpleClassName(className), known)}`;
    return [{ path: [...path, key], message }];
  });
}

function bindPort(uris: unknown, path: Path, known: readonly string[], problems: Problem[]): ResourceUri[] {
  if (typeof uris === "string") return bind(uris, path, known, problems);
  if (!Array.isArray(uris)) return [];
  return uris.flatMap((uri, index) =>
    typeof uri === "string" ? bind(uri, [...path, index], known, problems) : [],
  );
}

function bind(text: string, path: Path, known: readonly string[], problems: Problem[]): ResourceUri[] {
  try {
    const uri = parseResourceUri(text);
    const resource = matchSpelling(uri.resource, known);
    if (resource) return [{ ...uri, resource }];
    problems.push({ path, message: unknownResource(uri.resource, known) });
  } catch (error) {
    if (!(error instanceof TallymanError)) throw error;
    problems.push({ path, message: error.message });
  }
  return [];
}

function unknownResource(name: string, known: readonly string[]): string {
  const hint = known.length > 0 ? didYouMean(name, known) : "The file defines none: add it under resources.";
  return `no resource '${name}'. ${hint}`;
}
