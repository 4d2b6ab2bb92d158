import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** A command as its sender logged it. */
export interface SentCommand {
  readonly commandId: string;
  readonly type: string;
  readonly wantsReply: boolean;
}

/** Commands that were sent together, all or none. */
export interface Intent {
  readonly commands: readonly SentCommand[];
  readonly isBatch: boolean;
  /** The command that follows the batch. */
  readonly completionId: string | undefined;
  readonly outcome: "accepted" | "refused" | "unknown";
}

/** What an operator did to some commands. */
export interface OperatorAction {
  readonly operator: string;
  readonly action: string;
  readonly commandIds: readonly string[];
  readonly outcome: "done" | "refused" | "unknown";
}

/** A batch that its creator was told about. */
export interface Callback {
  readonly process: string;
  readonly batchId: string;
  readonly status: string;
}

/** A job as it was asked for, once. */
export interface AskedJob {
  readonly key: string;
  readonly everyMs: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly isAccepted: boolean;
}

/** What the children wrote down: the truth that the database is held against. */
export interface Evidence {
  readonly intents: readonly Intent[];
  readonly actions: readonly OperatorAction[];
  readonly callbacks: readonly Callback[];
  readonly jobs: readonly AskedJob[];
  /** Checksums of the files that were written, by key. */
  readonly written: ReadonlyMap<string, number>;
  /** When files were damaged or taken away by the harness, by key. */
  readonly broken: ReadonlyMap<string, number>;
}

type Entry = Readonly<Record<string, unknown>>;

/** Reads all logs of a run's folder. */
export function readEvidence(folder: string): Evidence {
  const logs = readdirSync(join(folder, "accepted")).map((name) => ({
    process: name.replace(/\.jsonl$/, ""),
    entries: entriesOf(readFileSync(join(folder, "accepted", name), "utf8")),
  }));
  return evidenceOf(logs);
}

/** How much all logs of a run's folder hold: as long as it grows, somebody is at work. */
export function evidenceBytes(folder: string): number {
  const logs = join(folder, "accepted");
  return readdirSync(logs).reduce((sum, name) => sum + statSync(join(logs, name)).size, 0);
}

/** The entries of a log. Its last line may be torn: then nothing that it would have said was promised. */
export function entriesOf(text: string): Entry[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Entry);
}

/** What the logs of all processes say together. */
export function evidenceOf(
  logs: readonly { readonly process: string; readonly entries: readonly Entry[] }[],
): Evidence {
  const all = logs.flatMap(({ entries }) => entries);
  const numbers = (key: string, value: string) =>
    new Map(all.filter((entry) => entry[key]).map((entry) => [String(entry[key]), Number(entry[value])]));
  return {
    intents: logs.flatMap(({ entries }) => intentsOf(entries)),
    actions: logs.flatMap(({ entries }) => actionsOf(entries)),
    callbacks: logs.flatMap(({ process, entries }) =>
      entries
        .filter((entry) => entry.callback)
        .map((entry) => ({ process, batchId: String(entry.callback), status: String(entry.status) })),
    ),
    jobs: jobsOf(all),
    written: numbers("file", "crc"),
    broken: numbers("broken", "at"),
  };
}

function intentsOf(entries: readonly Entry[]): Intent[] {
  const accepted = new Set(entries.map((entry) => entry.accepted));
  const refused = new Set(entries.map((entry) => entry.refused));
  return entries
    .filter((entry) => entry.intent !== undefined)
    .map((entry) => ({
      commands: (entry.commands as [string, string, boolean][]).map(([commandId, type, wantsReply]) => ({
        commandId,
        type,
        wantsReply,
      })),
      isBatch: entry.batch === true,
      completionId: entry.completion as string | undefined,
      outcome: accepted.has(entry.intent) ? "accepted" : refused.has(entry.intent) ? "refused" : "unknown",
    }));
}

function actionsOf(entries: readonly Entry[]): OperatorAction[] {
  const outcomes = new Map(
    entries
      .filter((entry) => entry.operator && entry.outcome)
      .map((entry) => [entry.operator, entry.outcome]),
  );
  return entries
    .filter((entry) => entry.operator && entry.action)
    .map((entry) => ({
      operator: String(entry.operator),
      action: String(entry.action),
      commandIds: entry.commands as string[],
      outcome: (outcomes.get(entry.operator) ?? "unknown") as OperatorAction["outcome"],
    }));
}

/** A producer that was killed asks for the same jobs again, with other times: those that are there count. */
function jobsOf(entries: readonly Entry[]): AskedJob[] {
  const accepted = new Set(entries.map((entry) => entry.jobAccepted));
  return entries
    .filter(({ job }) => job !== undefined)
    .map(({ job, everyMs, startAt, endAt }) => ({
      key: String(job),
      everyMs: Number(everyMs),
      startMs: Date.parse(String(startAt)),
      endMs: Date.parse(String(endAt)),
      isAccepted: accepted.has(job),
    }));
}
