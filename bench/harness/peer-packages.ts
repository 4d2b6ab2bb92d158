/** Peers are packages of `bench/package.json` alone; `npm run bench` installs them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const benchFolder = new URL("../", import.meta.url);
const require = createRequire(import.meta.url);

interface PackageFile {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

function readPackage(path: string): PackageFile | undefined {
  try {
    return JSON.parse(readFileSync(new URL(path, benchFolder), "utf8")) as PackageFile;
  } catch {
    return undefined;
  }
}

/** The installed version; undefined when the peer is not installed. */
export function peerVersion(name: string): string | undefined {
  return readPackage(`node_modules/${name}/package.json`)?.version;
}

/** Why a peer can't run. */
export function peerMissing(name: string): string | undefined {
  return peerVersion(name) ? undefined : `${name} is not installed`;
}

/** A peer's exports; the caller says what it uses of them, so that types need no installation. */
export function loadPeer<Exports>(name: string): Exports {
  return require(name) as Exports;
}

/** Installs the versions that the lock file names, unless they are there. */
export function installPeers(): void {
  const wanted = Object.entries(readPackage("package.json")?.dependencies ?? {});
  if (wanted.every(([name, version]) => peerVersion(name) === version)) return;
  try {
    execFileSync("npm", ["ci", "--no-audit", "--no-fund"], {
      cwd: fileURLToPath(benchFolder),
      stdio: ["ignore", 2, 2],
    });
  } catch (error) {
    console.error(`Peers could not be installed and are shown as missing: ${(error as Error).message}`);
  }
}
