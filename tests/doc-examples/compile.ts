import { join, resolve } from "node:path";
import ts from "typescript";
import type { Block } from "./blocks.ts";
import { importingSources } from "./packages.ts";

/** Where names come from, the first that has one wins: the file that a block is about, then these. */
const modules = [
  "src/index.ts",
  "src/testing/index.ts",
  "src/client/index.ts",
  "tests/doc-examples/names.ts",
] as const;

/**
 * Compiles blocks, each as a module of its own that imports the names it uses and does not declare. Returns what the
 * compiler says, with the place of the block.
 */
export function compileErrors(blocks: readonly Block[]): string[] {
  const { library, exportsOf } = readLibrary(blocks);
  const sources = new Map(
    blocks.map((block, number) => [resolve(`doc-example-${number}.ts`), moduleOf(block, exportsOf)]),
  );
  const places = new Map([...sources.keys()].map((file, number) => [file, blocks[number]?.place ?? ""]));
  const program = ts.createProgram(
    [...sources.keys()],
    library.getCompilerOptions(),
    hostOf(sources, library),
  );
  return [...sources.keys()].flatMap((file) => {
    const source = program.getSourceFile(file);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return found.map(
      ({ messageText }) => `${places.get(file)}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`,
    );
  });
}

type ExportsOf = (file: string) => ReadonlySet<string>;

/** What examples are about, compiled, and what each module exports. */
function readLibrary(blocks: readonly Block[]): { library: ts.Program; exportsOf: ExportsOf } {
  const { config } = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
  const { options: strict } = ts.parseJsonConfigFileContent(config, ts.sys, ".");
  // A block imports what it needs without saying which of it are types.
  const options = { ...strict, rewriteRelativeImportExtensions: false, verbatimModuleSyntax: false };
  const files = [...modules, ...new Set(blocks.flatMap(({ file }) => file ?? []))].map((file) =>
    resolve(file),
  );
  const library = ts.createProgram(files, options);
  const checker = library.getTypeChecker();
  const names = new Map(
    files.map((file) => {
      const source = library.getSourceFile(file);
      const symbol = source && checker.getSymbolAtLocation(source);
      return [file, new Set(symbol ? checker.getExportsOfModule(symbol).map(({ name }) => name) : [])];
    }),
  );
  return { library, exportsOf: (file) => names.get(resolve(file)) ?? new Set() };
}

/** The block as a module: its own imports, those of names that it uses, and its code in a function. */
function moduleOf({ file, code }: Block, exportsOf: ExportsOf): string {
  const source = ts.createSourceFile("block.ts", code, ts.ScriptTarget.ESNext, true);
  const given = source.statements.filter(ts.isImportDeclaration).map((statement) => statement.getText());
  const rest = source.statements
    .filter((statement) => !ts.isImportDeclaration(statement))
    .map((statement) => statement.getFullText());
  const isModule = rest.some((text) => /^\s*export /m.test(text));
  const body = isModule ? rest.join("") : `export async function example() {${rest.join("")}\n}`;
  const imports = importingSources(given.join("\n"), (each) => resolve(each));
  return [imports, ...importsOf(source, file, exportsOf), body].join("\n");
}

function importsOf(source: ts.SourceFile, file: string | undefined, exportsOf: ExportsOf): string[] {
  const places = file === undefined ? [...modules] : [file, ...modules];
  return freeNames(source).flatMap((name) => {
    const place = places.find((each) => exportsOf(each).has(name));
    return place === undefined ? [] : `import { ${name} } from ${JSON.stringify(join(resolve("."), place))};`;
  });
}

/** Names that a block uses as a value or type and declares nowhere. */
function freeNames(source: ts.SourceFile): string[] {
  const used = new Set<string>();
  const declared = new Set<string>();
  const visit = (node: ts.Node) => {
    if (ts.isIdentifier(node) && isDeclaration(node)) declared.add(node.text);
    else if (ts.isIdentifier(node) && isReference(node)) used.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return [...used].filter((name) => !declared.has(name));
}

function isDeclaration(node: ts.Identifier): boolean {
  const { parent } = node;
  const declares =
    ts.isVariableDeclaration(parent) ||
    ts.isBindingElement(parent) ||
    ts.isParameter(parent) ||
    ts.isClassDeclaration(parent) ||
    ts.isFunctionDeclaration(parent) ||
    ts.isInterfaceDeclaration(parent) ||
    ts.isTypeAliasDeclaration(parent) ||
    ts.isImportSpecifier(parent);
  return declares && parent.name === node;
}

function isReference(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent)) return parent.name !== node;
  if (ts.isBindingElement(parent)) return parent.propertyName !== node;
  return !ts.isPropertySignature(parent) && !ts.isMethodSignature(parent);
}

/** Reads examples from memory, and what the library was made of from there: parsing it once is enough. */
function hostOf(sources: ReadonlyMap<string, string>, library: ts.Program): ts.CompilerHost {
  const host = ts.createCompilerHost(library.getCompilerOptions());
  return {
    ...host,
    fileExists: (file) => sources.has(file) || host.fileExists(file),
    readFile: (file) => sources.get(file) ?? host.readFile(file),
    getSourceFile: (file, target, ...rest) => {
      const text = sources.get(file);
      if (text !== undefined) return ts.createSourceFile(file, text, target, true);
      return library.getSourceFile(file) ?? host.getSourceFile(file, target, ...rest);
    },
  };
}
