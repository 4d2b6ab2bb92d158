import ts from "typescript";
import { publicNames } from "../public-names.ts";

/** One field of an options interface. */
export interface OptionField {
  readonly name: string;
  readonly type: string;
  /** Its doc comment, without the default. */
  readonly meaning: string;
  /** What the doc comment says behind 'Default'. */
  readonly default: string;
}

/** Reads the fields of public interfaces, inherited ones included, with their doc comments. */
export function publicInterfaces(names: ReadonlySet<string>): ReadonlyMap<string, readonly OptionField[]> {
  const { checker, symbols } = publicNames("src/index.ts");
  const found = symbols
    .filter(({ name }) => names.has(name))
    .map((symbol) => [symbol.name, fieldsOf(checker, symbol)] as const);
  const missing = [...names].filter((name) => !found.some(([other]) => other === name));
  if (missing.length > 0) throw new Error(`Not in src/index.ts: ${missing.join(", ")}`);
  return new Map(found);
}

function fieldsOf(checker: ts.TypeChecker, symbol: ts.Symbol): OptionField[] {
  return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map((property) => {
    const text = ts.displayPartsToString(property.getDocumentationComment(checker)).replaceAll(/\s+/g, " ");
    const [, meaning = text, told = ""] = /^(.*?)\s*Default:? (.*?)\.?$/.exec(text) ?? [];
    return { name: property.name, type: typeText(checker, property), meaning, default: told };
  });
}

function typeText(checker: ts.TypeChecker, property: ts.Symbol): string {
  const type = checker.getNonNullableType(checker.getTypeOfSymbol(property));
  return checker.typeToString(type, undefined, ts.TypeFormatFlags.InTypeAlias).replaceAll('"', "");
}
