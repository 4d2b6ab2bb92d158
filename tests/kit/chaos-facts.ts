import { evidenceOf } from "../../chaos/judge/evidence.ts";
import type { CommandFacts, Facts, RunFacts, SchedulerFacts } from "../../chaos/judge/facts.ts";

export const whole = { isWhole: true, tickStart: 0, tickEnd: 9, records: 10, crc: 5 } as const;
export const filename = "batch_0000000000_0000000009.pb";
export const key = `run/raw/${filename}`;

/** A little of everything, and nothing wrong with it. */
export const evidence = evidenceOf([
  {
    process: "producer.1",
    entries: [
      {
        intent: 1,
        batch: true,
        completion: "done-1",
        commands: [
          ["c1", "Effect", true],
          ["c2", "Poison", false],
        ],
      },
      { accepted: 1 },
      { intent: 2, commands: [["c3", "Effect", false]] },
      { intent: 3, commands: [["c4", "Effect", false]] },
      { refused: 3, code: "COMMAND_TOO_LARGE" },
      { operator: "o1", action: "cancel", commands: ["c2"] },
      { operator: "o1", outcome: "done" },
      { callback: "b1", status: "COMPLETED_WITH_FAILURES" },
      { job: "j", everyMs: 100, startAt: "2026-01-01T00:00:00.000Z", endAt: "2026-01-01T00:00:00.200Z" },
      { jobAccepted: "j" },
      { file: key, crc: 5 },
    ],
  },
]);
export const startMs = Date.parse("2026-01-01T00:00:00.000Z");
export const row = {
  domain: "work",
  type: "Effect",
  status: "COMPLETED",
  batchId: null,
  jobKey: null,
  fireTime: null,
};
export const fired = (id: number, ms: number) => ({
  ...row,
  id,
  commandId: `run-${id}`,
  domain: "jobs",
  jobKey: "j",
  fireTime: new Date(ms).toISOString(),
});
export const commands: CommandFacts = {
  commands: [
    { ...row, id: 1, commandId: "c1", batchId: "b1" },
    { ...row, id: 2, commandId: "c2", batchId: "b1", type: "Poison", status: "CANCELED" },
    { ...row, id: 3, commandId: "done-1" },
    fired(4, startMs),
    fired(5, startMs + 100),
  ],
  queued: new Map(),
  leased: new Map(),
  effects: new Map([
    ["c1", 1],
    ["done-1", 1],
    ["run-4", 1],
    ["run-5", 1],
  ]),
  attempts: new Map(),
  replies: new Map([["c1", 1]]),
  batches: [
    {
      batchId: "b1",
      status: "COMPLETED_WITH_FAILURES",
      total: 2,
      completed: 1,
      failed: 0,
      canceled: 1,
      troubled: 0,
      isComplete: true,
      completionId: "done-1",
    },
  ],
  completions: new Map([["b1", 1]]),
  operated: [{ operator: "o1", commandId: "c2", event: "OPERATOR_CANCEL" }],
};
export const change = {
  segmentId: 0,
  oldEpoch: 1,
  epoch: 2,
  workerId: "w1",
  leaderEpoch: 1,
  leaseEpoch: 1,
  writer: "coordinator-1.1",
};
export const scheduler: SchedulerFacts = {
  jobs: [
    {
      key: "j",
      startMs,
      createdMs: startMs - 1,
      isOver: true,
      fires: [
        { ms: startMs, outcome: "FIRED", runId: "run-4" },
        { ms: startMs + 100, outcome: "FIRED", runId: "run-5" },
      ],
    },
  ],
  segments: [{ segmentId: 0, status: "ASSIGNED", isOwnerOnline: true }],
  leaseLog: [{ epoch: 1, holder: "h1", writer: "coordinator-1.1" }],
  segmentLog: [change],
};
export const ledgerRow = {
  filename,
  tickStart: 0,
  tickEnd: 9,
  status: "completed",
  resumeAt: 10,
  claimedMs: 100,
};
export const run: RunFacts = {
  runId: "run",
  samplingInterval: 1,
  lastTick: 12,
  indexerClasses: ["Keyless", "Keyed"],
  keylessClass: "Keyless",
  keyedClass: "Keyed",
  ledger: [
    { ...ledgerRow, indexerClass: "Keyless" },
    { ...ledgerRow, indexerClass: "Keyed" },
  ],
  gaps: ["Keyless", "Keyed"].map((indexerClass) => ({
    indexerClass,
    start: 10,
    end: 12,
    status: "permanent",
  })),
  known: [filename],
  undone: 0,
  seen: new Map(Array.from({ length: 10 }, (_, tick) => [tick, 1])),
  keyed: new Set(Array.from({ length: 10 }, (_, tick) => tick)),
  files: [{ key, filename, verdict: whole }],
};
export const well: Facts = { evidence, commands, scheduler, runs: [run] };

export const withCommands = (changes: Partial<CommandFacts>): Facts => ({
  ...well,
  commands: { ...commands, ...changes },
});
export const withScheduler = (changes: Partial<SchedulerFacts>): Facts => ({
  ...well,
  scheduler: { ...scheduler, ...changes },
});
export const withRun = (changes: Partial<RunFacts>): Facts => ({ ...well, runs: [{ ...run, ...changes }] });
export const withEvidence = (entries: readonly Readonly<Record<string, unknown>>[]): Facts => {
  const more = evidenceOf([{ process: "producer.2", entries }]);
  return {
    ...well,
    evidence: {
      ...evidence,
      intents: [...evidence.intents, ...more.intents],
      actions: [...evidence.actions, ...more.actions],
      callbacks: [...evidence.callbacks, ...more.callbacks],
      jobs: [...evidence.jobs, ...more.jobs],
      broken: more.broken,
    },
  };
};
export const without = (commandId: string) =>
  commands.commands.filter((command) => command.commandId !== commandId);
export const changed = (commandId: string, changes: object) =>
  commands.commands.map((command) =>
    command.commandId === commandId ? { ...command, ...changes } : command,
  );
export const batch = (changes: object) =>
  withCommands({ batches: commands.batches.map((one) => ({ ...one, ...changes })) });
export const isTorn = { isWhole: false, reason: "trailer" } as const;
