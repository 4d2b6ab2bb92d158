import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { faultsFor } from "../chaos/faults/table.ts";
import { parts } from "../chaos/fleet/plan.ts";
import { SmallDisk } from "../chaos/fleet/small-disk.ts";
import type { Stage } from "../chaos/fleet/stage.ts";
import { StorageFolder } from "../chaos/fleet/storage-folder.ts";
import { mutants } from "../chaos/mutants/mutants.ts";
import { areAllSeen, runMutants } from "../chaos/mutants/run-mutants.ts";
import { parseTask } from "../chaos/options.ts";
import { reportOf } from "../chaos/report.ts";
import { isGreen, resultOf, summaryOf } from "../chaos/result.ts";
import { runChaos } from "../chaos/run.ts";
import { scheduleOf } from "../chaos/schedule.ts";
import { configureLogging } from "../src/index.ts";
import { currentLogging } from "../src/runtime/index.ts";
import { natsProgram, setup } from "../src/testing/index.ts";

const faults = faultsFor({ parts, topics: "nats", size: "full" });
/** As long as a full run. */
const options = { seed: 7, lengthMs: 1_800_000, everyMs: 1_000, faults };

describe("a schedule of faults", () => {
  it("follows from its seed, and from nothing else", () => {
    expect(scheduleOf(options)).toEqual(scheduleOf(options));
    expect(scheduleOf({ ...options, seed: 8 })).not.toEqual(scheduleOf(options));
  });

  it("has faults of every kind, each on one of its targets, in the order of time", () => {
    const strikes = scheduleOf(options);
    expect(new Set(strikes.map(({ fault }) => fault))).toEqual(new Set(faults.map(({ name }) => name)));
    for (const { fault, target } of strikes)
      expect(faults.find(({ name }) => name === fault)?.targets).toContain(target);
    expect(strikes.map(({ atMs }) => atMs)).toEqual(
      strikes.map(({ atMs }) => atMs).toSorted((a, b) => a - b),
    );
  });

  it("spares a target that suffers already", () => {
    const lastsMs = new Map(faults.map((fault) => [fault.name, fault.lastsMs]));
    const freeAtMs = new Map<string, number>();
    for (const { fault, target, atMs } of scheduleOf(options)) {
      // Times are rounded to milliseconds.
      expect(atMs + 1).toBeGreaterThanOrEqual(freeAtMs.get(target) ?? 0);
      freeAtMs.set(target, atMs + (lastsMs.get(fault) ?? 0));
    }
  });
});

describe("a small disk", () => {
  const strike = { number: 1, atMs: 0, fault: "", target: "", random: 0 };
  const diskFull = faults.filter(({ name }) => /disk-full$/.test(name));

  it("is full when it is told so, until it is told otherwise", async ({ skip }) => {
    await using t = await setup();
    const disk = await SmallDisk.make(join(await t.temporaryFolder(), "disk"), 8);
    t.use({ [Symbol.asyncDispose]: () => disk.close({ keep: false }) });
    if (disk.unfillable !== undefined) skip(disk.unfillable);
    const write = () => writeFile(join(disk.path, "file"), Buffer.alloc(100_000));
    await write();
    expect(await disk.fill()).toBe(true);
    await expect(writeFile(join(disk.path, "other"), Buffer.alloc(100_000))).rejects.toThrow("ENOSPC");
    disk.empty();
    await write();
  });

  it("can't be full without root: the faults say so", async () => {
    await using t = await setup();
    const user = vi.spyOn(process, "getuid").mockReturnValue(1_000);
    const disk = await SmallDisk.make(join(await t.temporaryFolder(), "disk"), 8);
    user.mockRestore();
    const stage = { storage: { disk }, postgres: { disk } } as Stage;
    expect(diskFull.map(({ name }) => name)).toEqual(["database-disk-full", "disk-full"]);
    for (const fault of diskFull)
      expect(await fault.inject(stage, strike)).toEqual({
        skipped: expect.stringMatching(/^only root may|on Linux only$/),
      });
  });
});

describe("the storage of a chaos run", () => {
  it("makes damaged files whole again, however many ask for it at the same moment", async () => {
    await using t = await setup();
    const folder = await t.temporaryFolder();
    const storage = await StorageFolder.make(folder);
    t.use({ [Symbol.asyncDispose]: () => storage.disk.close({ keep: false }) });
    const names = Array.from({ length: 20 }, (_, n) => `file-${n}`);
    await mkdir(join(folder, "originals"));
    for (const name of names) await writeFile(join(folder, "originals", name), "whole");
    await Promise.all([storage.repair(), storage.repair(), storage.restoreHidden()]);
    for (const name of names) expect(readFileSync(join(storage.disk.path, name), "utf8")).toBe("whole");
  });
});

describe("the command line", () => {
  it("says what is wrong with it", () => {
    expect(() => parseTask(["--minutes", "none"])).toThrow("--minutes must be a number above 0, not 'none'.");
    expect(() => parseTask(["--parts", "engine"])).toThrow("There is no part 'engine'");
    expect(() => parseTask(["--topics", "kafka"])).toThrow("--topics is postgres or nats.");
    expect(() => parseTask(["now"])).toThrow("What is 'now'?");
  });
});

describe("the judge", () => {
  it("shares no code with the product, nor with the fleet", () => {
    const folder = "chaos/judge";
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".ts"),
    );
    const imports = files.flatMap((file) => {
      const text = readFileSync(join(folder, file), "utf8");
      return [...text.matchAll(/from "([^"]+)"|import\("([^"]+)"\)/g)].map((match) => {
        const specifier = match[1] ?? match[2] ?? "";
        return specifier.startsWith(".") ? join(folder, file, "..", specifier) : specifier;
      });
    });
    expect(files.length).toBeGreaterThan(10);
    const isOwn = (specifier: string) => specifier.startsWith(`${folder}/`) || /^(node:|pg$)/.test(specifier);
    expect(imports.filter((specifier) => !isOwn(specifier))).toEqual([]);
  });
});

describe("the report", () => {
  const result = resultOf({
    faults: 300,
    byKind: { kill: 300 },
    missed: 0,
    skipped: { "disk-full": "only root may mount a small disk" },
    ...{
      seed: 7,
      minutes: 1,
      topics: "postgres",
      parts,
      unsettled: [],
      judged: { commands: 5 },
      lastWords: [],
    },
    deaths: { wanted: 300, atCrashPoint: 0, unready: 0, unwanted: 0 },
    memoryMegabytes: { indexer: 100 },
    violations: [],
  });

  it("says how many faults there were, what that supports, and what was not tried", () => {
    const text = reportOf([result, result]);
    expect(text).toContain("**600 faults, 0 failures.**");
    expect(text).toContain("less than 0.50 % of such faults");
    expect(text).toContain("| kill | 600 |");
    expect(text).toContain("Not tried: disk-full (only root may mount a small disk).");
  });

  it("counts what failed, and does not hide it", () => {
    const lost = resultOf({ ...result, violations: [{ invariant: "I1", kind: "lost", what: "gone" }] });
    expect(lost).toMatchObject({ faults: 300, lost: 1, doubled: 0, invariants: { passed: 7, failed: 1 } });
    expect(reportOf([lost])).toContain("**300 faults, 1 failures.** The runs below that failed");
    expect(reportOf([{ ...result, unsettled: ["2 jobs are not over"] }])).toContain(
      "was judged before it had come to rest: 2 jobs are not over.",
    );
    expect(isGreen(result)).toBe(true);
    expect(isGreen({ ...result, unsettled: ["something"] })).toBe(false);
    expect(isGreen({ ...result, memoryMegabytes: { indexer: 2_000 } })).toBe(false);
  });

  it("says which planted bugs were seen", () => {
    const seen = { name: "x", what: "A bug.", isSeen: true, broken: ["I2"], seconds: 14 } as const;
    const text = reportOf([result], [seen, { ...seen, isSeen: false, broken: [] }]);
    expect(text).toContain("1 of 2 did.");
    expect(text).toContain("| A bug. | I2 | 14 |");
  });
});

describe("a planted bug", () => {
  it.each(mutants.map(({ name }) => name))("still fits the product: %s", (name) => {
    execFileSync("git", ["apply", "--check", `chaos/mutants/${name}.patch`], { stdio: "pipe" });
  });

  it("is in the list when its patch is there", () => {
    const patches = readdirSync("chaos/mutants").filter((name) => name.endsWith(".patch"));
    expect(patches.toSorted()).toEqual(mutants.map(({ name }) => `${name}.patch`).toSorted());
  });
});

/** The harness breaks its database all the time: that it was lost, or does not start, is no news. */
async function quietly<T>(run: () => Promise<T>): Promise<T> {
  const before = currentLogging();
  configureLogging({ sink: () => undefined });
  return run().finally(() => configureLogging(before));
}

describe("a chaos run", () => {
  /** The full size is CHAOS_MINUTES=30; the default is what CI can spare, with the other topics as much again. */
  const minutes = Number(process.env.CHAOS_MINUTES ?? 1);
  const seed = Number(process.env.SEED ?? 7);
  /** At most, on a machine that does much else. */
  const settleMs = 180_000;

  it.each(natsProgram() ? (["postgres", "nats"] as const) : (["postgres"] as const))(
    `of ${minutes} min with seed ${seed} loses nothing and doubles nothing, with topics on %s`,
    async (topics) => {
      const lines: string[] = [];
      const options = { minutes, seed, faults: [], parts, topics, everyMs: 1_000, settleMs } as const;
      const { result, folder } = await quietly(() =>
        runChaos({ ...options, size: "full", patch: undefined, keep: true }, (line) => lines.push(line)),
      );
      process.stdout.write(`${summaryOf(result)}\n`);
      expect(result.faults, lines.join("\n")).toBeGreaterThan(minutes * 10);
      expect(Object.entries(result.judged).filter(([, amount]) => amount === 0)).toEqual([]);
      expect({ isGreen: isGreen(result), folder: isGreen(result) ? "" : folder }).toEqual({
        isGreen: true,
        folder: "",
      });
    },
    minutes * 60_000 + settleMs + 240_000,
  );
});

describe("a short chaos run", () => {
  /** One for each of the judge's ways to look; `npm run chaos -- --mutants` plants them all. */
  const share = ["audit-skipped", "ack-before-commit", "checksum-skipped", "term-not-counted"];

  it.each(share)(
    "shows a planted bug: %s",
    async (name) => {
      const lines: string[] = [];
      const result = await quietly(() => runMutants([name], { tell: (line) => lines.push(line) }));
      process.stdout.write(`${lines.join("\n")}\n`);
      expect(areAllSeen(result)).toBe(true);
    },
    600_000,
  );
});
