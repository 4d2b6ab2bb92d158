const lettersMax = 255;

/** Control characters, which PostgreSQL (NUL), logs and terminals mishandle, and halves of surrogate pairs. */
const unprintable = /[\p{Cc}\p{Cs}]/u;
/** Parts of a path that every client of HTTP takes out before it asks: nothing could be addressed by them. */
const pathSteps: ReadonlySet<unknown> = new Set([".", ".."]);

/** Rule for names that people choose, of domains, command types, jobs: undefined, or what such a name must be. */
export function nameRule(name: string): string | undefined {
  const isName =
    typeof name === "string" &&
    name.length > 0 &&
    name.length <= lettersMax &&
    !pathSteps.has(name) &&
    !unprintable.test(name);
  return isName
    ? undefined
    : `a text of 1 to ${lettersMax} letters without control characters, other than '.' and '..'`;
}
