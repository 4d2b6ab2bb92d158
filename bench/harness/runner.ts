import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startChild } from "../../src/testing/index.ts";
import { describeMachine } from "./machine.ts";
import type { Sample } from "./measure.ts";
import { type Result, shortened } from "./results.ts";
import { type SampleRequest, samplePrefix } from "./sample-request.ts";
import type { AnyScenario, Contender, SizeName } from "./scenario.ts";
import type { BenchServer } from "./server.ts";

/** How much to measure. */
export interface RunOptions {
  readonly size: SizeName;
  readonly runs: number;
}

/**
 * Measures a scenario: in each run every contender once, one after the other (ours, peer, limit, ours, …), so that
 * what else the machine does meets all of them. What fails has no samples, and a reason.
 */
export async function runScenario(
  scenario: AnyScenario,
  server: BenchServer,
  { size, runs }: RunOptions,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "tallyman-bench-files-"));
  await chmod(folder, 0o755); // the server reads some of them, under another user
  const { name, sizes, runsMax = runs } = scenario;
  const sizeValues = sizes[size];
  try {
    const machine = await describeMachine(server.database);
    await scenario.prepare?.(folder, sizeValues);
    const found = new Findings(scenario);
    for (let run = 1; run <= Math.min(runs, runsMax); run++)
      for (const contender of found.able)
        await found.add(contender, () =>
          takeSample(server, { scenario: name, contender: contender.name, size: sizeValues, folder }),
        );
    const { samples, missing } = found;
    const settings = Object.fromEntries(scenario.contenders.map((each) => [each.name, each.settings]));
    const finishedAt = new Date().toISOString();
    return { scenario: name, size, sizeValues, finishedAt, machine, samples, settings, missing };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The samples so far; who failed once takes no further part. */
class Findings {
  readonly samples: Record<string, Sample[]> = {};
  readonly missing: Record<string, string> = {};
  readonly #scenario: AnyScenario;

  constructor(scenario: AnyScenario) {
    this.#scenario = scenario;
    for (const contender of scenario.contenders) {
      const reason = contender.missing?.();
      if (reason !== undefined) this.#leaveOut(contender, reason);
    }
  }

  get able(): readonly Contender<unknown>[] {
    return this.#scenario.contenders.filter(({ name }) => this.missing[name] === undefined);
  }

  async add(contender: Contender<unknown>, take: () => Promise<Sample>): Promise<void> {
    try {
      const sample = await take();
      this.samples[contender.name] = [...(this.samples[contender.name] ?? []), sample];
      this.#say(contender, this.#figuresOf(sample));
    } catch (error) {
      this.#leaveOut(contender, (error as Error).message);
    }
  }

  #figuresOf(sample: Sample): string {
    const named = Object.entries(this.#scenario.figures);
    return named.map(([name, unit]) => `${shortened(sample[name] ?? Number.NaN)} ${unit}`).join(", ");
  }

  #leaveOut(contender: Contender<unknown>, reason: string): void {
    delete this.samples[contender.name];
    this.missing[contender.name] = reason;
    this.#say(contender, `missing: ${reason}`);
  }

  #say(contender: Contender<unknown>, text: string): void {
    console.error(`${this.#scenario.name}: ${contender.name}: ${text}`);
  }
}

type Wanted = Omit<SampleRequest, "url" | "warmUpUrl">;

async function takeSample(server: BenchServer, wanted: Wanted): Promise<Sample> {
  await using measured = await server.freshDatabase("measured");
  await using warmUp = await server.freshDatabase("warm_up");
  const request: SampleRequest = { ...wanted, url: measured.url, warmUpUrl: warmUp.url };
  await using child = startChild(new URL("./sample.child.ts", import.meta.url), {
    args: [JSON.stringify(request)],
  });
  await child.exit;
  const line = child.lines.find((text) => text.startsWith(samplePrefix));
  if (!line) throw new Error(errorIn(child.errorOutput));
  return JSON.parse(line.slice(samplePrefix.length)) as Sample;
}

/** The line of the output that says what happened: Node prints an error that nobody caught, and its stack below. */
function errorIn(errorOutput: string): string {
  const lines = errorOutput.split("\n").map((line) => line.trim());
  return (
    lines.find((line) => /^(\w*Error|error)\b/.test(line)) ??
    (lines.find((line) => line) || "no reason given")
  );
}
