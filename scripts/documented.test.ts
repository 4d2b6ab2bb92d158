import { resolve } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

/** Public names of a module that have no doc comment. */
function undocumented(entry: string): string[] {
  const { config } = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ".");
  const program = ts.createProgram([resolve(entry)], options);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(resolve(entry));
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${entry} is not a module`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .filter((symbol) => symbol.getDocumentationComment(checker).length === 0)
    .map((symbol) => symbol.name);
}

/** The compiler reads every type behind the public ones, those of dependencies too. */
const compileTimeoutMs = 60_000;

describe("documentation", () => {
  it.each(["src/index.ts", "src/testing/index.ts"])(
    "every public name of %s has a doc comment",
    (entry) => {
      expect(undocumented(entry)).toEqual([]);
    },
    compileTimeoutMs,
  );
});
