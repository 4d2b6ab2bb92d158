import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** The versions of Node that are supported beside the oldest, with which everything is tested. */
export const otherNodeVersions = [22, 24] as const;

const folder = ".tallyman/nodes";
const fetchTimeoutMs = 120_000;

/** Where the program of a version is, once it is fetched. */
export function nodeProgram(major: number): string {
  return join(folder, String(major), "node_modules", packageName(), "bin", "node");
}

/**
 * Fetches the programs from the package registry, beside the project's own packages. Where that can't be
 * done, their smoke tests are skipped, and say so in their names.
 */
export function fetchNodeVersions(): void {
  for (const major of otherNodeVersions.filter((version) => !existsSync(nodeProgram(version)))) {
    const options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    const place = ["--prefix", join(folder, String(major))];
    try {
      execFileSync("npm", ["install", ...options, ...place, `${packageName()}@${major}`], {
        stdio: "inherit",
        timeout: fetchTimeoutMs,
      });
    } catch {
      console.log(`Could not be fetched, so its smoke test is skipped: Node ${major}`);
    }
  }
}

function packageName(): string {
  return `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
}
