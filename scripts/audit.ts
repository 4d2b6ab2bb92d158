/**
 * Asks the package registry for known vulnerabilities of everything that is installed, and fails on those that are
 * high or critical. Registries that mirror packages often answer no such question, and a machine may be offline: then
 * nothing is known, which is said and is no failure.
 */
import { spawnSync } from "node:child_process";

interface Vulnerability {
  readonly name: string;
  readonly severity: string;
  readonly range: string;
}

interface Report {
  /** Absent when the registry gave no answer. */
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>;
}

const timeoutMs = 60_000;

function ask(): Report {
  const { stdout } = spawnSync("npm", ["audit", "--json"], { encoding: "utf8", timeout: timeoutMs });
  try {
    return JSON.parse(stdout) as Report;
  } catch {
    return {};
  }
}

const { vulnerabilities } = ask();
const all = Object.values(vulnerabilities ?? {});
const grave = all.filter(({ severity }) => severity === "high" || severity === "critical");
if (vulnerabilities === undefined) console.log("Not checked: the package registry answers no audit.");
else console.log(`${grave.length} high or critical of ${all.length} known vulnerabilities.`);
for (const { name, range, severity } of grave) console.log(`${severity}: ${name} ${range}`);
process.exitCode = grave.length > 0 ? 1 : 0;
