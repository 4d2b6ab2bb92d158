import type { FileVerdict } from "./batch-file.ts";
import type { Evidence } from "./evidence.ts";

/** A command as the database has it. */
export interface CommandRow {
  readonly id: number;
  readonly domain: string;
  readonly commandId: string;
  readonly type: string;
  readonly status: string;
  readonly batchId: string | null;
  /** For the commands of a job. */
  readonly jobKey: string | null;
  readonly fireTime: string | null;
}

/** A batch as the database has it. */
export interface BatchRow {
  readonly batchId: string;
  readonly status: string;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly canceled: number;
  readonly troubled: number;
  readonly isComplete: boolean;
  readonly completionId: string | null;
}

/** What the command bus holds. */
export interface CommandFacts {
  readonly commands: readonly CommandRow[];
  /** In how many blocks of the queue a command is, by its row. */
  readonly queued: ReadonlyMap<number, number>;
  /** Under how many leases it is, of its present delivery. */
  readonly leased: ReadonlyMap<number, number>;
  readonly effects: ReadonlyMap<string, number>;
  readonly attempts: ReadonlyMap<string, number>;
  readonly replies: ReadonlyMap<string, number>;
  readonly batches: readonly BatchRow[];
  /** Audit rows that say that a batch completed, by batch. */
  readonly completions: ReadonlyMap<string, number>;
  /** Audit rows of operators. */
  readonly operated: readonly {
    readonly operator: string;
    readonly commandId: string;
    readonly event: string;
  }[];
}

/** A job's history. */
export interface JobFacts {
  readonly key: string;
  readonly startMs: number;
  readonly createdMs: number;
  readonly isOver: boolean;
  readonly fires: readonly { readonly ms: number; readonly outcome: string; readonly runId: string | null }[];
}

/** What the scheduler holds, and what the observers saw. */
export interface SchedulerFacts {
  readonly jobs: readonly JobFacts[];
  readonly segments: readonly {
    readonly segmentId: number;
    readonly status: string;
    readonly isOwnerOnline: boolean;
  }[];
  readonly leaseLog: readonly { readonly epoch: number; readonly holder: string; readonly writer: string }[];
  readonly segmentLog: readonly SegmentChange[];
}

/** One change of a segment. */
export interface SegmentChange {
  readonly segmentId: number;
  readonly oldEpoch: number;
  readonly epoch: number;
  readonly workerId: string | null;
  readonly leaderEpoch: number;
  /** The epoch of the lease at that moment. */
  readonly leaseEpoch: number;
  readonly writer: string;
}

/** A file's row in the ledger. */
export interface LedgerRow {
  readonly indexerClass: string;
  readonly filename: string;
  readonly tickStart: number;
  readonly tickEnd: number;
  readonly status: string;
  readonly resumeAt: number;
  readonly claimedMs: number;
}

/** A gap's row. */
export interface GapRow {
  readonly indexerClass: string;
  readonly start: number;
  readonly end: number;
  readonly status: string;
}

/** A batch file on the disk. */
export interface StoredFile {
  readonly key: string;
  readonly filename: string;
  readonly verdict: FileVerdict;
}

/** What a run of ticks became. */
export interface RunFacts {
  readonly runId: string;
  readonly samplingInterval: number;
  readonly lastTick: number;
  readonly indexerClasses: readonly string[];
  /** The class that writes `seen`. */
  readonly keylessClass: string;
  readonly keyedClass: string;
  readonly ledger: readonly LedgerRow[];
  readonly gaps: readonly GapRow[];
  /** Files that the manifest knows. */
  readonly known: readonly string[];
  /** Messages in the database's topics that some group has neither acknowledged nor given up. */
  readonly undone: number;
  /** Rows of the keyless table, by tick. */
  readonly seen: ReadonlyMap<number, number>;
  /** Ticks in the keyed table. */
  readonly keyed: ReadonlySet<number>;
  readonly files: readonly StoredFile[];
}

/** Everything that the judge looks at. */
export interface Facts {
  readonly evidence: Evidence;
  readonly commands: CommandFacts | undefined;
  readonly scheduler: SchedulerFacts | undefined;
  readonly runs: readonly RunFacts[];
}
