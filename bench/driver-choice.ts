/*
 * Figures behind docs/decisions/001-database-driver.md: `pg` against `postgres` (postgres.js).
 *
 *   npm install --no-save postgres@3.4.9
 *   DATABASE_URL=postgres://… node --import tsx bench/driver-choice.ts [figures|failures] [name filter]
 *
 * The database must be one you can spoil: tables named bench_* are dropped and created, CHECKPOINT and
 * pg_terminate_backend are called. Each sample runs in a process of its own (so memory and CPU are the driver's
 * alone, and neither driver warms the other's code), the two drivers alternate, and `figures` prints the median
 * and the spread of RUNS (default 5) samples. `failures` prints what each driver does when things break.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type DriverName, open } from "./driver-choice/drivers.ts";
import { probes } from "./driver-choice/failures.ts";
import { type Measure, type Scenario, scenarios } from "./driver-choice/scenarios.ts";

interface Sample {
  rate: number;
  cpuSeconds: number;
  rssMb: number;
}

const drivers: DriverName[] = ["pg", "postgres"];
const runs = Number(process.env.RUNS ?? 5);
const probeTimeoutMs = 10_000;
/** Node's own code for a top-level await that can never finish. */
const neverSettledExitCode = 13;

function databaseUrl(): string {
  const url = process.env.DATABASE_URL;
  if (!url) throw new Error("Set DATABASE_URL to a database that may be spoiled.");
  return url;
}

function find<T>(table: Record<string, T>, name: string): T {
  const found = table[name];
  if (!found) throw new Error(`Nothing here is called '${name}'.`);
  return found;
}

async function takeSample(scenario: Scenario, driver: DriverName): Promise<Sample> {
  let rate = 0;
  let cpuSeconds = 0;
  const measure: Measure = async (work) => {
    const cpuBefore = process.cpuUsage();
    const startedAt = performance.now();
    const units = await work();
    rate = units / ((performance.now() - startedAt) / 1000);
    const cpu = process.cpuUsage(cpuBefore);
    cpuSeconds = (cpu.user + cpu.system) / 1e6;
  };
  await scenario.run(driver, databaseUrl(), measure);
  return { rate, cpuSeconds, rssMb: process.resourceUsage().maxRSS / 1024 };
}

async function sampleInChild(name: string, driver: DriverName): Promise<Sample> {
  const child = fork(fileURLToPath(import.meta.url), ["sample", name, driver]);
  const [message] = (await Promise.race([once(child, "message"), once(child, "exit")])) as [Sample | number];
  if (typeof message !== "object") throw new Error(`The sample '${name}' of ${driver} failed.`);
  if (child.exitCode === null) await once(child, "exit");
  return message;
}

function sorted(samples: Sample[], field: keyof Sample): number[] {
  return samples.map((sample) => sample[field]).sort((a, b) => a - b);
}

function median(values: number[]): number {
  return values[Math.floor(values.length / 2)] ?? Number.NaN;
}

function describe(samples: Sample[]): string {
  const rates = sorted(samples, "rate");
  const format = (value: number) => Math.round(value).toLocaleString("en-US");
  const cpu = median(sorted(samples, "cpuSeconds")).toFixed(2);
  const spread = `${format(rates[0] ?? 0)}–${format(rates.at(-1) ?? 0)}`;
  return `${format(median(rates))} (${spread}) | ${cpu} s, ${format(median(sorted(samples, "rssMb")))} MB`;
}

async function printFigures(filter: string): Promise<void> {
  console.log(
    "| scenario | unit | pg: median (spread) | CPU, peak RSS | postgres: median (spread) | CPU, peak RSS |",
  );
  console.log("|---|---|---|---|---|---|");
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (!name.includes(filter)) continue;
    const samples: Record<DriverName, Sample[]> = { pg: [], postgres: [] };
    for (let run = 0; run < runs; run += 1) {
      for (const driver of run % 2 === 0 ? drivers : drivers.toReversed()) {
        const admin = await open("pg", databaseUrl());
        await scenario.prepare(admin);
        await admin.close();
        samples[driver].push(await sampleInChild(name, driver));
      }
    }
    console.log(`| ${name} | ${scenario.unit} | ${describe(samples.pg)} | ${describe(samples.postgres)} |`);
  }
}

function verdict(code: number | null, signal: string | null, stderr: string): string {
  if (signal) return `  HUNG: no answer within ${probeTimeoutMs / 1000} s`;
  if (code === neverSettledExitCode)
    return "  HUNG: a promise never settled, and nothing was left to wait for";
  if (code !== 0) return `  PROCESS DIED with ${code}: ${/^\w*error:.*$/im.exec(stderr)?.[0] ?? stderr}`;
  return "  process alive";
}

async function printFailures(filter: string): Promise<void> {
  for (const name of Object.keys(probes)) {
    if (!name.includes(filter)) continue;
    console.log(`\n${name}`);
    const child = fork(fileURLToPath(import.meta.url), ["probe", name], {
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    let stderr = "";
    child.stderr?.on("data", (bytes) => {
      stderr += bytes;
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), probeTimeoutMs);
    const [code, signal] = await once(child, "exit");
    clearTimeout(timer);
    console.log(verdict(code, signal, stderr));
  }
}

const [mode = "figures", name = "", driver = "pg"] = process.argv.slice(2);
if (mode === "sample") {
  process.send?.(await takeSample(find(scenarios, name), driver as DriverName), () => process.exit(0));
} else if (mode === "probe") {
  await find(probes, name)(databaseUrl());
  process.exit(0);
} else if (mode === "failures") await printFailures(name);
else await printFigures(name);
