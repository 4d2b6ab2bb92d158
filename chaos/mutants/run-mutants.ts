import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ChaosResult } from "../result.ts";
import { type Mutant, mutants } from "./mutants.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const seed = 7;
/** How long faults strike; with start and rest it takes about twice as long. */
const faultMinutes = 0.2;
const everyMs = 600;
const settleSeconds = 8;

/**
 * Plants the bugs, one after the other, each in a copy of the tree, and runs a short chaos on it. True when the
 * judge saw every one of them.
 *
 * @param which names with commas between, or how many of the list; undefined: all
 */
export async function runMutants(which: string | undefined, tell: (line: string) => void): Promise<boolean> {
  const chosen = choose(which);
  let seen = 0;
  for (const mutant of chosen) {
    const startedMs = performance.now();
    const result = await runMutant(mutant);
    const failed = result?.invariants.failed ?? [];
    const isSeen = mutant.breaks.some((invariant) => failed.includes(invariant));
    if (isSeen) seen++;
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
    tell(
      `${isSeen ? "red  " : "GREEN"} ${mutant.name} (${seconds} s): ${failed.join(", ") || "nothing was found"}`,
    );
    const example = result?.violations.find(({ invariant }) => mutant.breaks.includes(invariant));
    if (example) tell(`      ${example.what}`);
  }
  console.log(`${seen}/${chosen.length}`);
  return seen === chosen.length;
}

function choose(which: string | undefined): readonly Mutant[] {
  if (which === undefined) return mutants;
  if (/^\d+$/.test(which)) return mutants.slice(0, Number(which));
  return which.split(",").map((name) => {
    const mutant = mutants.find((one) => one.name === name);
    if (!mutant)
      throw new Error(
        `There is no mutant '${name}'; there are ${mutants.map((one) => one.name).join(", ")}.`,
      );
    return mutant;
  });
}

async function runMutant(mutant: Mutant): Promise<ChaosResult | undefined> {
  const copy = await mkdtemp(join(tmpdir(), "tallyman-mutant-"));
  await chmod(copy, 0o755); // an embedded server started by root runs as another user
  try {
    await copyTree(copy);
    execFileSync("git", ["apply", join(root, "chaos/mutants", `${mutant.name}.patch`)], { cwd: copy });
    const resultFile = join(copy, "result.json");
    const temporary = join(copy, "run");
    await mkdir(temporary);
    const child = spawn(
      process.execPath,
      ["--import", "tsx", "chaos/main.ts", ...argumentsOf(mutant, resultFile)],
      {
        cwd: copy,
        stdio: ["ignore", "ignore", "inherit"],
        env: { ...process.env, TMPDIR: temporary },
      },
    );
    await once(child, "close");
    return JSON.parse(await readFile(resultFile, "utf8")) as ChaosResult;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Everything that is or could be committed; packages are shared. */
async function copyTree(copy: string): Promise<void> {
  const list = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const file of list.split("\n").filter((name) => name !== ""))
    await cp(join(root, file), join(copy, file)).catch(ignoreDeleted);
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
}

function ignoreDeleted(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

function argumentsOf({ parts, faults }: Mutant, resultFile: string): string[] {
  const options = {
    parts: parts.join(","),
    fault: faults.join(","),
    minutes: faultMinutes,
    seed,
    every: everyMs,
    settle: settleSeconds,
    result: resultFile,
  };
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
