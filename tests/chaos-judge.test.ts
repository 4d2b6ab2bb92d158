import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { examineFile } from "../chaos/judge/batch-file.ts";
import { entriesOf } from "../chaos/judge/evidence.ts";
import type { Facts } from "../chaos/judge/facts.ts";
import { judge } from "../chaos/judge/judge.ts";
import { unsettled } from "../chaos/judge/settled.ts";
import { FileSystemStorage, TickDataSchema } from "../src/index.ts";
import { setup } from "../src/testing/index.ts";
import {
  batch,
  change,
  changed,
  commands,
  filename,
  fired,
  isTorn,
  key,
  row,
  run,
  scheduler,
  startMs,
  well,
  whole,
  withCommands,
  withEvidence,
  without,
  withRun,
  withScheduler,
} from "./kit/chaos-facts.ts";

/** Wrong facts, and what the judge must say about them. */
const planted: readonly (readonly [what: string, facts: Facts, verdict: string])[] = [
  [
    "an accepted command is gone",
    withCommands({ commands: without("c1") }),
    "I1 lost: command c1 was accepted",
  ],
  [
    "a batch is torn apart",
    withCommands({ commands: changed("c2", { batchId: null }) }),
    "I1 wrong: the batch of command",
  ],
  [
    "a refused command is there",
    withCommands({
      commands: [...commands.commands, { ...row, id: 9, commandId: "c4" }],
      effects: new Map([...commands.effects, ["c4", 1]]),
    }),
    "I1 wrong: refused command c4",
  ],
  [
    "a command comes from nowhere",
    withCommands({ commands: [...commands.commands, { ...row, id: 9, commandId: "x", status: "FAILED" }] }),
    "I1 wrong: nobody sent command x",
  ],
  [
    "a command never ends",
    withCommands({ commands: changed("done-1", { status: "PENDING" }) }),
    "I1 lost: command done-1 was never finished",
  ],
  [
    "an ended command is queued",
    withCommands({ queued: new Map([[1, 1]]) }),
    "I1 wrong: command c1 is COMPLETED and still queued",
  ],
  [
    "a completion command is missing",
    withCommands({ commands: without("done-1") }),
    "I1 lost: the completion command of batch b1",
  ],
  ["an accepted job is gone", withScheduler({ jobs: [] }), "I1 lost: job j was accepted"],
  [
    "a job is not as it was asked for",
    withScheduler({ jobs: scheduler.jobs.map((job) => ({ ...job, startMs: startMs - 1 })) }),
    "I1 wrong: nobody asked for job j as it is",
  ],
  [
    "a fire is missing",
    withScheduler({ jobs: scheduler.jobs.map((job) => ({ ...job, fires: job.fires.slice(0, 1) })) }),
    "I1 lost: job j did not fire at 2026-01-01T00:00:00.100Z",
  ],
  [
    "a fire's command is missing",
    withCommands({ commands: without("run-4") }),
    "I1 lost: the command of job j",
  ],
  [
    "an effect happened twice",
    withCommands({ effects: new Map([...commands.effects, ["c1", 2]]) }),
    "I2 doubled: command c1",
  ],
  [
    "an effect did not happen",
    withCommands({ effects: new Map([...commands.effects, ["c1", 0]]) }),
    "I2 lost: command c1",
  ],
  [
    "a cancelled command had an effect",
    withCommands({ effects: new Map([...commands.effects, ["c2", 1]]) }),
    "I2 doubled: command c2",
  ],
  ["a reply came twice", withCommands({ replies: new Map([["c1", 2]]) }), "I2 doubled: command c1"],
  ["a reply did not come", withCommands({ replies: new Map() }), "I2 lost: command c1"],
  [
    "a job fired twice for one time",
    withCommands({ commands: [...commands.commands, { ...fired(6, startMs), commandId: "run-5b" }] }),
    "I2 doubled: job j at",
  ],
  ["a tick was written twice", withRun({ seen: new Map([...run.seen, [3, 2]]) }), "I2 doubled: tick 3"],
  ["a tick was not written", withRun({ seen: new Map([...run.seen, [3, 0]]) }), "I2 lost: tick 3"],
  ["a counter is wrong", batch({ completed: 2 }), "I3 wrong: batch b1 says 2 completed"],
  ["a batch is complete too early", batch({ status: "IN_PROGRESS" }), "I3 wrong: batch b1 is IN_PROGRESS"],
  ["a batch completed twice", withCommands({ completions: new Map([["b1", 2]]) }), "I3 doubled: batch b1"],
  [
    "a callback came too early",
    withEvidence([{ callback: "b1", status: "IN_PROGRESS" }]),
    "I3 wrong: producer.2 was told",
  ],
  [
    "a callback came twice",
    withEvidence([
      { callback: "b1", status: "COMPLETED" },
      { callback: "b1", status: "COMPLETED" },
    ]),
    "I3 doubled: producer.2 was told twice",
  ],
  [
    "a term goes back",
    withScheduler({
      leaseLog: [...scheduler.leaseLog, { epoch: 0, holder: "h0", writer: "coordinator-2.1" }],
    }),
    "I4 wrong: term 0 came after term 1",
  ],
  [
    "a term has two holders",
    withScheduler({
      leaseLog: [...scheduler.leaseLog, { epoch: 1, holder: "h2", writer: "coordinator-1.1" }],
    }),
    "I4 wrong: term 1 has two holders",
  ],
  [
    "another renews a term",
    withScheduler({
      leaseLog: [...scheduler.leaseLog, { epoch: 1, holder: "h1", writer: "coordinator-2.1" }],
    }),
    "I4 wrong: coordinator-2.1 wrote in term 1",
  ],
  [
    "a leader writes after its term",
    withScheduler({ segmentLog: [{ ...change, leaseEpoch: 2 }] }),
    "I4 wrong: coordinator-1.1 wrote to segment 0 in term 1",
  ],
  [
    "a segment has two owners",
    withScheduler({ segmentLog: [change, { ...change, workerId: "w2" }] }),
    "I5 doubled: epoch 2 of segment 0",
  ],
  [
    "a segment's epoch goes back",
    withScheduler({ segmentLog: [{ ...change, oldEpoch: 3 }] }),
    "I5 wrong: segment 0 went back",
  ],
  [
    "a segment has no owner",
    withScheduler({ segments: [{ segmentId: 0, status: "AVAILABLE", isOwnerOnline: false }] }),
    "I5 lost: segment 0 is AVAILABLE",
  ],
  ["a tick is nowhere", withRun({ gaps: [] }), "I6 lost: Keyless: tick 10 of run"],
  [
    "a tick is in a file and in a gap",
    withRun({ gaps: run.gaps.map((gap) => ({ ...gap, start: 9 })) }),
    "I6 wrong: Keyless: tick 9",
  ],
  [
    "a tick is in two gaps",
    withRun({ gaps: [...run.gaps, ...run.gaps] }),
    "I6 wrong: Keyless: tick 10 of run is in two gaps",
  ],
  [
    "ticks are missed that nobody expects",
    withRun({ gaps: run.gaps.map((gap) => ({ ...gap, end: 99 })) }),
    "I6 wrong: Keyless: run ends at tick 12",
  ],
  [
    "a whole file is not indexed",
    withRun({ ledger: run.ledger.map((one) => ({ ...one, status: "failed" })) }),
    "I6 lost: Keyless: batch_0000000000_0000000009.pb of run is there and whole",
  ],
  ["the keyed table lacks a tick", withRun({ keyed: new Set([0, 1, 2]) }), "I6 lost: Keyed: tick 3"],
  [
    "a torn file is visible",
    withRun({ files: [{ key, filename, verdict: isTorn }] }),
    "I7 wrong: run/raw/batch_0000000000_0000000009.pb is visible and not whole",
  ],
  [
    "a file is not what was written",
    withRun({ files: [{ key, filename, verdict: { ...whole, crc: 6 } }] }),
    "I7 wrong: run/raw/batch_0000000000_0000000009.pb is not what was written",
  ],
  [
    "a file holds other ticks",
    withRun({ files: [{ key, filename, verdict: { ...whole, tickEnd: 8 } }] }),
    "I7 wrong: run/raw/batch_0000000000_0000000009.pb holds ticks 0 to 8",
  ],
  [
    "a foreign tick was indexed",
    withRun({ seen: new Map([...run.seen, [900, 1]]) }),
    "I7 wrong: tick 900 was indexed",
  ],
  ["an action left no trace", withCommands({ operated: [] }), "I8 lost: o1 acted on c2"],
  [
    "an action left two traces",
    withCommands({ operated: [...commands.operated, ...commands.operated] }),
    "I8 doubled: o1 acted on c2",
  ],
  [
    "a stranger acted",
    withCommands({
      operated: [...commands.operated, { operator: "o9", commandId: "c1", event: "OPERATOR_RETRY" }],
    }),
    "I8 wrong: the audit knows o9",
  ],
];

describe("the judge", () => {
  it("finds nothing wrong with facts that are right", () => {
    expect(judge(well)).toEqual([]);
    expect(unsettled(well)).toEqual([]);
  });

  it.each(planted)("sees that %s", (_, facts, verdict) => {
    const texts = judge(facts).map(({ invariant, kind, what }) => `${invariant} ${kind}: ${what}`);
    expect(texts).toContainEqual(expect.stringContaining(verdict));
  });

  it("blames nobody for a file that the harness damaged, unless it was indexed after that", () => {
    const { evidence: damaged } = withEvidence([{ broken: key, at: 150 }]);
    const files = [{ key, filename, verdict: isTorn }];
    const claimed = (claimedMs: number): Facts => ({
      ...withRun({ files, ledger: run.ledger.map((one) => ({ ...one, claimedMs })) }),
      evidence: damaged,
    });
    expect(judge(claimed(100))).toEqual([]);
    expect(judge(claimed(200)).map(({ invariant }) => invariant)).toEqual(["I7", "I7"]);
  });

  it("knows what has not come to rest", () => {
    expect(unsettled(withCommands({ commands: changed("c1", { status: "PENDING" }) }))).toEqual([
      "1 commands are not ended",
    ]);
    expect(unsettled(withRun({ known: [], gaps: [] }))).toEqual([
      "1 files of run are not known",
      "run has come to tick 9 of 12",
    ]);
    expect(unsettled(withRun({ undone: 2 }))).toEqual(["2 messages of run are not done"]);
  });

  it("passes over a torn last line: what it would have said was not promised", () => {
    expect(entriesOf('{"accepted":1}\n{"accep')).toEqual([{ accepted: 1 }]);
  });
});

describe("the judge's reader of batch files", () => {
  it("tells a whole file from every damaged one", async () => {
    await using t = await setup();
    const folder = await t.temporaryFolder();
    const storage = new FileSystemStorage({ rootDirectory: folder, codec: "none" });
    const ticks = [0n, 5n].map((tickNumber) =>
      create(TickDataSchema, { tickNumber, simulationRunId: "run" }),
    );
    const file = await storage.writeBatch("run", 0, 5, ticks, { schema: TickDataSchema });
    const path = join(folder, file.key);
    const bytes = await readFile(path);
    expect(examineFile(path)).toEqual({ isWhole: true, tickStart: 0, tickEnd: 5, records: 2, crc: file.crc });
    for (let at = 0; at < bytes.length; at++) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      await writeFile(path, flipped);
      expect({ at, isWhole: examineFile(path).isWhole }).toEqual({ at, isWhole: false });
      await writeFile(path, bytes.subarray(0, at));
      expect({ at, isWhole: examineFile(path).isWhole }).toEqual({ at, isWhole: false });
    }
  });
});
