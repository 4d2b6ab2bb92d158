import type { Problem } from "./problems.ts";
import { isTree, type Path, type Tree } from "./tree.ts";

/** What a reference may name: the environment, and the run id of the whole pipeline. */
interface ReferenceSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly runId?: string | undefined;
}

/** The one reference that is not an environment variable: services write it to share the run id. */
const runIdReference = "pipeline.services.runId";

const environmentName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** `${NAME}`, `${?NAME}`, and `$${`, which stands for a literal `${`. */
const referencePattern = /\$\$\{|\$\{(\??)([^}]*)\}/g;

/** A value that an unset optional reference takes away, together with its key. */
const absent = Symbol("absent");

/**
 * Replaces the references in every text of a tree. `${NAME}` must be set; `${?NAME}` may be unset,
 * and then the key that holds nothing else is left out, so that its default applies.
 */
export function expandReferences(tree: Tree, sources: ReferenceSources, problems: Problem[]): Tree {
  return expand(tree, [], sources, problems) as Tree;
}

function expand(value: unknown, path: Path, sources: ReferenceSources, problems: Problem[]): unknown {
  if (typeof value === "string") return expandText(value, path, sources, problems);
  if (Array.isArray(value)) {
    return value
      .map((item, index) => expand(item, [...path, index], sources, problems))
      .filter((item) => item !== absent);
  }
  if (!isTree(value)) return value;
  const entries = Object.entries(value)
    .map(([key, item]) => [key, expand(item, [...path, key], sources, problems)] as const)
    .filter(([, item]) => item !== absent);
  return Object.fromEntries(entries);
}

function expandText(text: string, path: Path, sources: ReferenceSources, problems: Problem[]): unknown {
  let isAbsent = false;
  const expanded = text.replace(
    referencePattern,
    (whole, optional: string | undefined, name: string | undefined) => {
      if (name === undefined) return "${";
      const found = lookUp(name, sources);
      if (found !== undefined) return found;
      const message = optional ? unknownName(name) : (unknownName(name) ?? unset(name));
      if (message) problems.push({ path, message });
      isAbsent ||= whole === text;
      return "";
    },
  );
  return isAbsent ? absent : expanded;
}

function lookUp(name: string, { environment, runId }: ReferenceSources): string | undefined {
  if (name === runIdReference) return runId;
  return Object.hasOwn(environment, name) ? environment[name] : undefined;
}

function unknownName(name: string): string | undefined {
  if (name === runIdReference || environmentName.test(name)) return undefined;
  return `\${${name}} is not an environment variable. Only those, and ${runIdReference}, can be referenced.`;
}

function unset(name: string): string {
  const where = name === runIdReference ? "the key runId at the top is" : `environment variable ${name} is`;
  return `${where} not set. Set it, or write \${?${name}} to leave this key out.`;
}
