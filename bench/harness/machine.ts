import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { arch, cpus, loadavg, release, totalmem, type } from "node:os";
import { type Executor, serverVersion } from "../../src/database/index.ts";
import { natsProgram } from "../../src/testing/index.ts";
import { peerVersion } from "./peer-packages.ts";
import { pgbenchProgram } from "./pgbench.ts";
import { benchSettings } from "./server.ts";

/** Where and with what the figures were measured. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGigabytes: number;
  readonly system: string;
  /** Of the last minute, when the scenario began; 0 is a quiet machine. */
  readonly load: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly postgresSettings: Readonly<Record<string, string>>;
}

export async function describeMachine(executor: Executor): Promise<Machine> {
  const processors = cpus();
  return {
    processor: processors[0]?.model.trim() ?? "unknown",
    cores: processors.length,
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()} ${arch()}`,
    load: Number((loadavg()[0] ?? 0).toFixed(2)),
    versions: {
      tallyman: ownVersion(),
      node: process.version,
      postgresql: await serverVersion(executor),
      "graphile-worker": peerVersion("graphile-worker") ?? "missing",
      "pg-boss": peerVersion("pg-boss") ?? "missing",
      pgbench: programVersion(pgbenchProgram()),
      "nats-server": programVersion(natsProgram()),
    },
    postgresSettings: benchSettings,
  };
}

function ownVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** The number in what a program says of itself. */
function programVersion(program: string | undefined): string {
  if (!program) return "missing";
  const said = execFileSync(program, ["--version"], { encoding: "utf8" });
  return /\d+(\.\d+)+/.exec(said)?.[0] ?? said.trim();
}
