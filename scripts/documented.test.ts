import { describe, expect, it } from "vitest";
import { publicNames } from "./public-names.ts";

/** Public names of a module that have no doc comment. */
function undocumented(entry: string): string[] {
  const { checker, symbols } = publicNames(entry);
  return symbols
    .filter((symbol) => symbol.getDocumentationComment(checker).length === 0)
    .map((symbol) => symbol.name);
}

/** The compiler reads every type behind the public ones, those of dependencies too. */
const compileTimeoutMs = 180_000;

describe("documentation", () => {
  it.each(["src/index.ts", "src/testing/index.ts"])(
    "every public name of %s has a doc comment",
    (entry) => {
      expect(undocumented(entry)).toEqual([]);
    },
    compileTimeoutMs,
  );
});
