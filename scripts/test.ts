/**
 * The whole check, as `npm test` and CI run it: format and lint, types, unused code, generated files,
 * known vulnerabilities, all tests. Every step runs even when an earlier one fails, and the last line counts them all:
 * 'N passed, N failed'.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installDebianPackages } from "./debian-packages.ts";
import { fetchNodeVersions } from "./node-versions.ts";

interface Outcome {
  readonly passed: number;
  readonly failed: number;
}

const checks: readonly (readonly [name: string, command: string])[] = [
  ["format and lint", "biome ci --error-on-warnings ."],
  ["types", "tsc --noEmit && tsc --noEmit -p dashboard"],
  ["unused code", "knip"],
  ["generated files", "node --import tsx scripts/generate.ts --check"],
  ["known vulnerabilities", "node --import tsx scripts/audit.ts"],
];

function runCheck(name: string, command: string): Outcome {
  const startedMs = performance.now();
  const { status } = spawnSync(command, { shell: true, stdio: "inherit", env: binPath() });
  console.log(
    `${status === 0 ? "✓" : "✗"} ${name} (${((performance.now() - startedMs) / 1000).toFixed(1)} s)`,
  );
  return status === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

function runVitest(): Outcome {
  const folder = mkdtempSync(join(tmpdir(), "tallyman-vitest-"));
  const report = join(folder, "report.json");
  const command = `vitest run --reporter=default --reporter=json --outputFile.json=${report}`;
  const { status } = spawnSync(command, { shell: true, stdio: "inherit", env: binPath() });
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
    // A run may fail beside its tests: an unhandled rejection, a file that does not load.
    const failed = status === 0 ? numFailedTests : Math.max(numFailedTests, 1);
    return { passed: numPassedTests, failed };
  } catch {
    return { passed: 0, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function binPath(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${join(process.cwd(), "node_modules", ".bin")}:${process.env.PATH}` };
}

installDebianPackages();
fetchNodeVersions();
const outcomes = [...checks.map(([name, command]) => runCheck(name, command)), runVitest()];
const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
