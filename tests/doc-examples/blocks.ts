import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A block of TypeScript in a doc comment or a page. */
export interface Block {
  /** File and line where it stands. */
  readonly place: string;
  /** The file that it is about; undefined for a page. */
  readonly file: string | undefined;
  readonly code: string;
}

/** Doc comments, and in them or in a page the fenced blocks. */
const docComment = /\/\*\*[\s\S]*?\*\//g;
const fence = /^```ts(?: run)?\n([\s\S]*?)^```/gm;

/** The blocks in the doc comments of a folder's files, tests left out. */
export function commentBlocks(folder: string): Block[] {
  return filesIn(folder, ".ts")
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) => {
      const text = readFileSync(file, "utf8");
      return [...text.matchAll(docComment)].flatMap(({ 0: comment, index }) =>
        blocksOf(withoutStars(comment), file, lineAt(text, index)).map((block) => ({ ...block, file })),
      );
    });
}

/** The blocks of pages. */
export function pageBlocks(pages: readonly string[]): Block[] {
  return pages.flatMap((page) => blocksOf(readFileSync(page, "utf8"), page, 1));
}

/** The pages of a folder. */
export function pagesIn(folder: string): string[] {
  return filesIn(folder, ".md");
}

function filesIn(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
    .sort();
}

function blocksOf(text: string, file: string, firstLine: number): Block[] {
  return [...text.matchAll(fence)].map(({ 1: code = "", index }) => ({
    place: `${file}:${firstLine + lineAt(text, index)}`,
    file: undefined,
    code,
  }));
}

function withoutStars(comment: string): string {
  return comment.replaceAll(/^[ \t]*\* ?/gm, "");
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
