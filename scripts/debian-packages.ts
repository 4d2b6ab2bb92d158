import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Programs that some tests talk to, and the Debian package that has each. */
const packages: Readonly<Record<string, string>> = {
  pgbouncer: "/usr/sbin/pgbouncer",
  "nats-server": "/usr/sbin/nats-server",
  prometheus: "/usr/bin/promtool",
};

/**
 * Installs what is missing when we are root on Debian. Elsewhere the tests that need a missing
 * program are skipped, and say so in their names.
 */
export function installDebianPackages(): void {
  const missing = Object.entries(packages).filter(([, program]) => !existsSync(program));
  if (missing.length === 0) return;
  const names = missing.map(([name]) => name);
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    console.log(`Not installed, so their tests are skipped: ${names.join(", ")}`);
    return;
  }
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...args: string[]) => execFileSync("apt-get", args, { stdio: "inherit", env });
  try {
    apt("update", "-qq");
    apt("install", "-y", "-qq", "--no-install-recommends", ...names);
  } catch {
    console.log(`Could not be installed, so their tests are skipped: ${names.join(", ")}`);
  }
}
