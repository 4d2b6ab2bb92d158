import { resolve } from "node:path";
import ts from "typescript";

/** What a module makes public, with the compiler that knows its types. */
export interface PublicNames {
  readonly checker: ts.TypeChecker;
  /** As they are declared, whatever file that is in. */
  readonly symbols: readonly ts.Symbol[];
}

/** Reads the public names of a module of the repository. */
export function publicNames(entry: string): PublicNames {
  const { config } = ts.readConfigFile("tsconfig.json", ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ".");
  const program = ts.createProgram([resolve(entry)], options);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(resolve(entry));
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${entry} is not a module`);
  const symbols = checker
    .getExportsOfModule(module)
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol));
  return { checker, symbols };
}
