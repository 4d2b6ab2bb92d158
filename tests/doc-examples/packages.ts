/** Where what an example imports lies here. */
const packages: Readonly<Record<string, string>> = {
  tallyman: "src/index.ts",
  "tallyman/testing": "src/testing/index.ts",
  "tallyman/client": "src/client/index.ts",
  "./memory-topics.ts": "examples/drivers/memory-topics.ts",
};

/** An example whose imports lead to the sources; `specifierOf` says how a file is imported. */
export function importingSources(code: string, specifierOf: (file: string) => string): string {
  return code.replaceAll(/from "([^"]+)"/g, (text, name: string) => {
    const file = packages[name];
    return file === undefined ? text : `from "${specifierOf(file)}"`;
  });
}
