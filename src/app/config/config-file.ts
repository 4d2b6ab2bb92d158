import { readFile } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLError,
} from "yaml";
import { TallymanError } from "../../errors/index.ts";
import type { Problem } from "./problems.ts";
import { camelCase } from "./spelling.ts";
import { isTree, type Path, type Tree } from "./tree.ts";

/** A place in the file: its line, and the path in the spelling that the file uses. */
interface FilePlace {
  readonly line?: number;
  readonly path: Path;
}

/** A configuration file after reading, before any meaning is given to it. */
export interface ConfigFile {
  /** How messages name the file. */
  readonly label: string;
  /** The folder against which relative paths in the file are taken. */
  readonly folder: string;
  readonly tree: Tree;
  readonly problems: readonly Problem[];
  /** Finds the line of a path for a message; the nearest line above when the path itself is missing. */
  locate(path: Path): FilePlace;
}

/** Reads a configuration file; a missing or unreadable one is an error with its path. */
export async function readConfigFile(path: string, directory: string): Promise<ConfigFile> {
  const label = relative(directory, path).startsWith("..") ? path : relative(directory, path);
  try {
    return parseConfigFile(await readFile(path, "utf8"), { label, folder: dirname(resolve(path)) });
  } catch (error) {
    if (error instanceof Error && "code" in error) throw unreadable(path, String(error.code));
    throw error;
  }
}

/** Parses the text of a configuration file. Syntax errors become problems, so that none hides another. */
export function parseConfigFile(text: string, at: { label: string; folder: string }): ConfigFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const problems: Problem[] = [...document.errors, ...document.warnings].map((error) => ({
    path: [],
    line: lines.linePos(error.pos[0]).line,
    message: syntaxMessage(error),
  }));
  const tree = problems.length > 0 ? {} : toTree(document, problems);
  return { ...at, tree, problems, locate: (path) => locate(document, lines, path) };
}

function toTree(document: Document.Parsed, problems: Problem[]): Tree {
  try {
    const value: unknown = document.toJS() ?? {};
    // An alias inside its own anchor makes a value without end; it throws here, not in a later walk.
    JSON.stringify(value);
    if (isTree(value)) return value;
    problems.push({
      path: [],
      line: 1,
      message: "expected keys and values. `tallyman init` writes an example.",
    });
  } catch {
    // The parser's own text names the alias, which may be a password that begins with '*'.
    problems.push({
      path: [],
      message:
        "an alias (*name) has no anchor (&name), holds itself or recurs too often. Quote a value that begins with *.",
    });
  }
  return {};
}

/** Our own words per kind of error: the parser's text can quote the value, which may be a secret. */
const syntaxMessages: Partial<Record<YAMLError["code"], string>> = {
  BAD_INDENT: "wrong indentation, or a bracket that is not closed. Align the keys of one block.",
  TAB_AS_INDENT: "a tab is used for indentation. Use spaces.",
  DUPLICATE_KEY: "this key is given twice in its block. Keep one.",
  MISSING_CHAR: "a character is missing: a closing quote or bracket, or the space after a colon.",
  BAD_SCALAR_START: "a value begins with a reserved character. Put it in quotes.",
  BAD_ALIAS: "an alias (*name) is malformed. Quote a value that begins with *.",
  TAG_RESOLVE_FAILED: "tags (!name) are not supported. Quote a value that begins with !.",
  MULTIPLE_DOCS: "the file holds several documents. Remove the '---' line between them.",
};

function syntaxMessage(error: YAMLError): string {
  return (
    syntaxMessages[error.code] ?? `not valid YAML (${error.code}). Check colons, quotes and brackets here.`
  );
}

function locate(document: Document.Parsed, lines: LineCounter, path: Path): FilePlace {
  let node: unknown = document.contents;
  let offset: number | undefined;
  const spelled: PropertyKey[] = [];
  for (const key of path) {
    const step = stepInto(isAlias(node) ? node.resolve(document) : node, key);
    spelled.push(step?.spelled ?? key);
    offset = step?.offset ?? offset;
    node = step?.node;
  }
  return { path: spelled, ...(offset === undefined ? {} : { line: lines.linePos(offset).line }) };
}

interface Step {
  readonly spelled: PropertyKey;
  readonly node: unknown;
  readonly offset?: number | undefined;
}

function stepInto(node: unknown, key: PropertyKey): Step | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(key)];
    return { spelled: key, node: item, offset: isScalar(item) ? item.range?.[0] : undefined };
  }
  if (!isMap(node)) return undefined;
  const keyText = (pair: { key: unknown }) => String(isScalar(pair.key) ? pair.key.value : pair.key);
  const pair =
    node.items.find((item) => keyText(item) === key) ??
    node.items.find((item) => camelCase(keyText(item)) === key);
  if (!pair) return undefined;
  const offset = isScalar(pair.key) ? pair.key.range?.[0] : undefined;
  return { spelled: keyText(pair), node: pair.value, offset };
}

function unreadable(path: string, reason: string): TallymanError {
  return reason === "ENOENT"
    ? new TallymanError(
        "CONFIG_NOT_FOUND",
        `No configuration file at ${path}. Run \`tallyman init\` to write one, or correct --config or TALLYMAN_CONFIG.`,
        { details: { path } },
      )
    : new TallymanError(
        "CONFIG_INVALID",
        `The configuration file ${path} can't be read (${reason}). Check that it is a file and that you may read it.`,
        { details: { path, reason } },
      );
}
