import { type CommandBus, newCommandId, type TransactionOption } from "../commands/index.ts";
import {
  type CallerClient,
  type Database,
  errorCodeOf,
  serverNow,
  type Transaction,
} from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { type GivenOptions, oneOf, resolveOptions, wholeNumber } from "../runtime/index.ts";
import { hint, hintInside } from "./hints.ts";
import type { JobChanges, JobCommand, JobDefinition, JobFire, JobInfo, JobStatus } from "./job.ts";
import { changedTimes, keptPayload, namedChanges, nextOf, toStore, withOneTarget } from "./job-changes.ts";
import { invalidJob, payloadOf, refuseBadKey, resolveDefinition, timesOf } from "./job-definition.ts";
import { commandOf, definitionOf, firstTime, infoOf } from "./job-info.ts";
import { jitterOf, nextTimes } from "./schedule.ts";
import { selectFires } from "./sql/fire-history.ts";
import {
  deleteJob,
  insertJobs,
  type JobHealth,
  type JobToStore,
  lockJob,
  remapJobs,
  runJob,
  type StoredJob,
  selectJob,
  selectJobHealth,
  selectJobs,
  setPaused,
  updateJob,
} from "./sql/job.ts";

const pageMax = 1_000;
const nextTimesMax = 1_000;
/** Jobs of one call, which is one statement. */
const createManyMax = 10_000;

const statuses: readonly JobStatus[] = ["SCHEDULED", "PAUSED", "DISABLED", "PARKED", "FINISHED"];

/** A page of jobs. */
export interface JobListOptions {
  /** Only those in this state. */
  readonly status?: JobStatus;
  /** Default 100, at most 1000. */
  readonly limit: number;
  /** Key of the last job of the page before. */
  readonly cursor?: string;
}

/** A page of a job's history. */
export interface JobHistoryOptions {
  /** Default 100, at most 1000. */
  readonly limit: number;
  /** `cursor` of the last fire of the page before. */
  readonly cursor?: string;
}

/** A run by hand. */
export interface JobRun {
  /** The id of the command or batch. */
  readonly runId: string;
  readonly fireTime: Date;
}

/**
 * The jobs: what fires when. Any process may change them; scheduler workers fire them. Stateless: safe to
 * share. Every write is one transaction, the caller's own when it is given one.
 *
 * @example
 * ```ts
 * await jobs.create("nightly-invoices", {
 *   schedule: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
 *   command: { domain: "billing", commandType: "CreateInvoices" },
 * });
 * ```
 */
export class JobStore {
  readonly #database: Database;
  readonly #bus: CommandBus;

  constructor(database: Database, bus: CommandBus) {
    this.#database = database;
    this.#bus = bus;
  }

  /**
   * Stores a job. Its payload is checked as if it were sent now, so that no fire can fail over it.
   *
   * @throws TallymanError JOB_EXISTS, JOB_INVALID, INVALID_OPTION, COMMAND_INVALID, COMMAND_TOO_LARGE
   */
  async create(
    key: string,
    definition: GivenOptions<JobDefinition>,
    { tx }: TransactionOption = {},
  ): Promise<JobInfo> {
    await this.createMany([{ ...definition, key }], tx ? { tx } : {});
    const stored = await selectJob(tx ? this.#database.join(tx) : this.#database, key);
    if (!stored) throw jobNotFound(key);
    return infoOf(stored);
  }

  /**
   * Stores many jobs, all or none; at most 10,000 in one call.
   *
   * @throws as {@link create}
   */
  async createMany(
    jobs: readonly ({ readonly key: string } & GivenOptions<JobDefinition>)[],
    { tx }: TransactionOption = {},
  ): Promise<void> {
    if (jobs.length > createManyMax) throw invalidJob(`more than ${createManyMax} in one call`);
    if (jobs.length === 0) return;
    const executor = tx ? this.#database.join(tx) : this.#database;
    const nowMs = (await serverNow(executor)).getTime();
    const toStore: JobToStore[] = [];
    for (const { key, ...given } of jobs) toStore.push(await this.#newJob(key, given, nowMs));
    refuseSameKeys(toStore);
    try {
      await insertJobs(executor, toStore);
    } catch (error) {
      throw errorCodeOf(error) === "23505" ? jobExists(error) : error;
    }
    await this.#changed(tx);
  }

  /**
   * Changes some of a job's settings; the others stay. With a new schedule or start it counts from now on; it never
   * fires for a time before its last one. A finished job goes on when its limits are raised. A parked job is free
   * again.
   *
   * @throws TallymanError JOB_NOT_FOUND, and as {@link create}
   */
  async update(key: string, changes: JobChanges, { tx }: TransactionOption = {}): Promise<JobInfo> {
    const info = await this.#locked(key, tx, async (inside, job, nowMs) => {
      const merged = resolveDefinition({ ...definitionOf(job), ...namedChanges(changes) });
      const hasPayload = changes.command !== undefined || changes.batch !== undefined;
      const payload = hasPayload
        ? await payloadOf(this.#bus, withOneTarget(merged, changes))
        : keptPayload(job, merged.fireField ?? null);
      const times = changedTimes(job, merged, changes, nowMs);
      const updated = toStore(key, merged, payload, nextOf(job, times, nowMs), job);
      await updateJob(inside, job.jobId, updated);
      return selectJob(inside, key);
    });
    return infoOf(info as StoredJob);
  }

  /**
   * Keeps a job from firing until it is resumed. Pausing twice changes nothing.
   *
   * @throws TallymanError JOB_NOT_FOUND
   */
  async pause(key: string, { tx }: TransactionOption = {}): Promise<void> {
    await this.#locked(key, tx, (inside, job) =>
      setPaused(inside, job.jobId, { isPaused: true, dueMs: null }),
    );
  }

  /**
   * Lets a paused or parked job fire again. Times that passed meanwhile are treated as its misfire policy says.
   *
   * @throws TallymanError JOB_NOT_FOUND
   */
  async resume(key: string, { tx }: TransactionOption = {}): Promise<void> {
    await this.#locked(key, tx, (inside, job) => {
      const { enabled, nextFireMs } = job;
      const dueMs = enabled && nextFireMs !== null ? nextFireMs + jitterOf(job, nextFireMs) : null;
      return setPaused(inside, job.jobId, { isPaused: false, dueMs });
    });
  }

  /**
   * Removes a job and its history; what it has sent stays on the bus.
   *
   * @throws TallymanError JOB_NOT_FOUND
   */
  async remove(key: string, { tx }: TransactionOption = {}): Promise<void> {
    await this.#locked(key, tx, (inside, job) => deleteJob(inside, job.jobId));
  }

  /**
   * Runs a job now, whatever its state, beside its schedule.
   *
   * @throws TallymanError JOB_NOT_FOUND
   */
  async run(key: string, { tx }: TransactionOption = {}): Promise<JobRun> {
    const runId = newCommandId();
    const executor = tx ? this.#database.join(tx) : this.#database;
    const run = await runJob(executor, key, runId);
    if (!run) throw jobNotFound(key);
    const sent = this.#bus.hints.commandsReady(run.domain, tx && executor);
    if (tx) await sent;
    return { runId, fireTime: new Date(run.fireMs) };
  }

  /** One job, or null. */
  async get(key: string): Promise<JobInfo | null> {
    const job = await selectJob(this.#database, key);
    return job ? infoOf(job) : null;
  }

  /**
   * What each fire of a job sends.
   *
   * @throws TallymanError JOB_NOT_FOUND
   */
  async payload(key: string): Promise<readonly JobCommand[]> {
    const { commands } = await this.#stored(key);
    return (commands ?? []).map(commandOf);
  }

  /** How the jobs are doing as a whole: those that are parked, and how far fires are behind. */
  health(): Promise<JobHealth> {
    return selectJobHealth(this.#database);
  }

  /** Jobs in the order of their keys. */
  async list(given: GivenOptions<JobListOptions> = {}): Promise<JobInfo[]> {
    const { status, limit, cursor } = resolveOptions<JobListOptions>(
      { status: undefined, limit: 100, cursor: undefined },
      given,
      { status: oneOf(...statuses), limit: wholeNumber({ max: pageMax }) },
    );
    const page = { status: status ?? null, limit, cursor: cursor ?? null };
    return (await selectJobs(this.#database, page)).map(infoOf);
  }

  /**
   * The next times of a job's schedule, jitter not counted; fewer when it ends before.
   *
   * @param count 1 to 1,000
   * @throws TallymanError JOB_NOT_FOUND, INVALID_OPTION
   */
  async nextFireTimes(key: string, count: number): Promise<Date[]> {
    resolveOptions({ count: 1 }, { count }, { count: wholeNumber({ max: nextTimesMax }) });
    const job = await this.#stored(key);
    if (job.nextFireMs === null) return [];
    const left = job.maxFires === null ? count : Math.min(count, job.maxFires - job.fireCount);
    return nextTimes(job, job.nextFireMs - 1, left).map((ms) => new Date(ms));
  }

  /**
   * What became of a job's times, the latest first.
   *
   * @throws TallymanError JOB_NOT_FOUND, INVALID_OPTION
   */
  async history(key: string, given: GivenOptions<JobHistoryOptions> = {}): Promise<JobFire[]> {
    const { limit, cursor } = resolveOptions<JobHistoryOptions>({ limit: 100, cursor: undefined }, given, {
      limit: wholeNumber({ max: pageMax }),
      cursor: (text) => (parseCursor(text) ? undefined : "a fire's cursor"),
    });
    await this.#stored(key);
    const page = { limit, cursor: cursor === undefined ? null : (parseCursor(cursor) ?? null) };
    const rows = await selectFires(this.#database, key, page);
    return rows.map((row) => ({
      ...row,
      cursor: `${row.fireTime.toISOString()}${row.isManual ? "/manual" : ""}`,
    }));
  }

  /**
   * Puts every job into its segment among `segmentCount`; the `remap` of {@link Fleet.setSegmentCount}.
   *
   * @example
   * ```ts
   * await fleet.setSegmentCount(200, { remap: (tx, count) => jobs.remap(tx, count) });
   * ```
   */
  remap(tx: Transaction, segmentCount: number): Promise<void> {
    return remapJobs(tx, segmentCount);
  }

  async #newJob(key: string, given: GivenOptions<JobDefinition>, nowMs: number): Promise<JobToStore> {
    refuseBadKey(key);
    const definition = resolveDefinition(given);
    const times = timesOf(definition, nowMs);
    const payload = await payloadOf(this.#bus, definition);
    const first = firstTime(times, nowMs);
    if (first === null) throw invalidJob("its schedule has no time to come", { key });
    return toStore(key, definition, payload, { times, nextFireMs: first });
  }

  async #stored(key: string): Promise<StoredJob> {
    const job = await selectJob(this.#database, key);
    if (!job) throw jobNotFound(key);
    return job;
  }

  /** Runs `change` on a job that nobody else changes or fires meanwhile, and tells the workers. */
  async #locked<T>(
    key: string,
    caller: Transaction | CallerClient | undefined,
    change: (tx: Transaction, job: StoredJob, nowMs: number) => Promise<T>,
  ): Promise<T> {
    const work = async (tx: Transaction) => {
      const locked = await lockJob(tx, key);
      if (!locked) throw jobNotFound(key);
      return change(tx, locked.job, locked.nowMs);
    };
    const result = await (caller ? work(this.#database.join(caller)) : this.#database.transaction(work));
    await this.#changed(caller);
    return result;
  }

  async #changed(caller?: Transaction | CallerClient): Promise<void> {
    if (caller) await hintInside(this.#database, this.#database.join(caller), "jobs");
    else await hint(this.#database, "jobs");
  }
}

function refuseSameKeys(jobs: readonly JobToStore[]): void {
  const keys = new Set<string>();
  for (const { jobKey } of jobs) {
    if (keys.has(jobKey)) throw invalidJob(`the key '${jobKey}' is given twice`, { key: jobKey });
    keys.add(jobKey);
  }
}

function parseCursor(text: string): { readonly fireTime: Date; readonly isManual: boolean } | undefined {
  const [iso = "", manual] = String(text).split("/");
  const fireTime = new Date(iso);
  if (Number.isNaN(fireTime.getTime()) || (manual !== undefined && manual !== "manual")) return undefined;
  return { fireTime, isManual: manual === "manual" };
}

const duplicateKey = /\(job_key\)=\((.*)\)/s;

function jobExists(cause: unknown): TallymanError {
  const [, key = "?"] = duplicateKey.exec((cause as { detail?: string }).detail ?? "") ?? [];
  return new TallymanError("JOB_EXISTS", `A job '${key}' exists already; nothing was stored.`, {
    cause,
    details: { key },
  });
}

/** No job has this key. */
export function jobNotFound(key: string): TallymanError {
  return new TallymanError("JOB_NOT_FOUND", `There is no job '${key}'.`, { details: { key } });
}
