import type { z } from "zod";
import { closest, didYouMean, TallymanError } from "../../errors/index.ts";
import type { ConfigFile } from "./config-file.ts";
import { shapeAt } from "./config-shape.ts";
import { type Path, valueAt } from "./tree.ts";

/** One thing that is wrong with the configuration. Messages never quote a value that may be a secret. */
export interface Problem {
  readonly path: Path;
  readonly message: string;
  /** Line in the file, when the path can't tell it. */
  readonly line?: number;
}

type Issue = z.core.$ZodIssue;

/** Turns zod's issues into problems in our own words. */
export function schemaProblems(issues: readonly Issue[], input: unknown): Problem[] {
  return issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => unknownKey([...issue.path, key]))
      : [{ path: issue.path, message: sentence(describeIssue(issue, valueAt(input, issue.path))) }],
  );
}

/** All problems in one CONFIG_INVALID error: one line each, with the place where it is to be mended. */
export function configInvalid(
  problems: readonly Problem[],
  file: ConfigFile | undefined,
  sources: ReadonlyMap<string, string>,
): TallymanError {
  const located = problems.map((problem) => locateProblem(problem, file, sources));
  const lines = located.map(({ place, path, message }) => [place, path, message].filter(Boolean).join(": "));
  const message =
    lines.length === 1
      ? `${lines[0]}`
      : `${lines.length} problems in the configuration:\n  ${lines.join("\n  ")}`;
  return new TallymanError("CONFIG_INVALID", message, { details: { problems: located } });
}

function locateProblem(
  problem: Problem,
  file: ConfigFile | undefined,
  sources: ReadonlyMap<string, string>,
): { place: string; path: string; message: string } {
  const path = problem.path.map(String).join(".");
  const source = sources.get(path);
  if (source) return { place: source, path, message: problem.message };
  if (!file) return { place: "", path, message: problem.message };
  const found = file.locate(problem.path);
  const line = problem.line ?? found.line;
  const place = line === undefined ? file.label : `${file.label}:${line}`;
  return { place, path: found.path.map(String).join("."), message: problem.message };
}

function unknownKey(path: Path): Problem {
  const known = Object.keys(shapeAt(path.slice(0, -1))?.properties ?? {});
  return { path, message: `unknown key. ${didYouMean(String(path.at(-1)), known)}` };
}

function describeIssue(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return describeType(issue.expected, value, issue.path);
    case "invalid_value":
      return describeChoice(issue.values.map(String), value);
    case "too_small":
      return issue.origin === "string" || issue.origin === "array"
        ? "must not be empty"
        : `must be at least ${issue.minimum}`;
    case "too_big":
      return `must be at most ${issue.maximum}`;
    case "invalid_key":
      return issue.issues[0]?.message ?? issue.message;
    default:
      return issue.message;
  }
}

const typeNames: Record<string, string> = {
  int: "a whole number",
  number: "a whole number",
  string: "text",
  object: "a block of keys and values",
  record: "a block of keys and values",
};

function describeType(expected: string, value: unknown, path: Path): string {
  if (path.join(".") === "services.runId") {
    return "not a service. The runId for all services is the key runId at the top of the file";
  }
  if (expected === "string" && (typeof value === "number" || typeof value === "boolean")) {
    return "expected text. Put the value in quotes";
  }
  return `expected ${typeNames[expected] ?? expected}, got ${nameOf(value)}`;
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  return (
    { string: "text", object: "a block of keys and values" }[typeof value as string] ?? `a ${typeof value}`
  );
}

function describeChoice(choices: readonly string[], value: unknown): string {
  const nearest = typeof value === "string" ? closest(value, choices) : undefined;
  const hint = nearest ? `. Did you mean '${nearest}'?` : "";
  return `must be one of ${choices.join(", ")}${hint}`;
}

function sentence(text: string): string {
  return /[.?]$/.test(text) ? text : `${text}.`;
}
