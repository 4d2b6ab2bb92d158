import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const generatedFolder = "src/contracts/generated";

/** The TypeScript of the contracts in `proto/`, by file name, after buf has linted them. */
export function contractFiles(): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "tallyman-contracts-"));
  try {
    buf("lint");
    buf("generate", "--output", folder);
    const made = join(folder, generatedFolder);
    const files = readdirSync(made, { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".ts"),
    );
    return Object.fromEntries(
      files.map((file) => [join(generatedFolder, file), readFileSync(join(made, file), "utf8")]),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function buf(...args: string[]): void {
  const path = [join(process.cwd(), "node_modules", ".bin"), process.env.PATH].join(delimiter);
  const { status } = spawnSync("buf", args, { stdio: "inherit", env: { ...process.env, PATH: path } });
  if (status !== 0) throw new Error(`buf ${args[0]} failed`);
}
