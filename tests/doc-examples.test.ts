import { describe, expect, it } from "vitest";
import { commentBlocks, pageBlocks, pagesIn } from "./doc-examples/blocks.ts";
import { compileErrors } from "./doc-examples/compile.ts";

/** The compiler reads every type behind the public ones, those of dependencies too. */
const compileTimeoutMs = 180_000;

describe("examples", () => {
  it("in doc comments and pages compile", { timeout: compileTimeoutMs }, () => {
    const blocks = [...commentBlocks("src"), ...pageBlocks(["README.md", ...pagesIn("docs")])];
    const wrong = { place: "here", file: undefined, code: "await tallyman.fly();" };
    expect(compileErrors([...blocks, wrong])).toEqual([
      "here: Property 'fly' does not exist on type 'Tallyman'.",
    ]);
    expect(blocks.length).toBeGreaterThan(100);
  });
});
