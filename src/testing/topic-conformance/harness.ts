import { create } from "@bufbuild/protobuf";
import { type BatchInfo, BatchInfoSchema } from "../../contracts/index.ts";
import type { CallerClient, Transaction } from "../../database/index.ts";
import type {
  TopicCapabilities,
  TopicMessage,
  TopicReader,
  TopicReaderOptions,
  Topics,
  TopicWriter,
} from "../../topics/index.ts";

/** What a driver under test brings; disposed of after each case. */
export interface TopicHarness extends AsyncDisposable {
  readonly topics: Topics;
  /** A further instance on the same engine, as another process would have; closed by the harness. */
  connect(): Promise<Topics>;
  /** Runs `work` in a transaction that commits unless it throws. Needed with `transactionalAck`. */
  transaction?(work: (tx: Transaction | CallerClient) => Promise<void>): Promise<void>;
  /**
   * Starts a process that claims one message for the group, and ends it with SIGKILL while it holds the
   * message. Without it the case is skipped.
   */
  claimAndDie?(options: { topic: string; group: string; claimTimeoutMs: number }): Promise<void>;
}

/** A driver to be tested. */
export interface TopicConformanceOptions {
  /** Opens an engine that holds nothing yet. */
  open(): Promise<TopicHarness>;
  readonly capabilities: TopicCapabilities;
  /** Whether the harness has `claimAndDie`. Default true. */
  readonly canCrash?: boolean;
  /** Messages of the largest case. Default 10,000. */
  readonly messages?: number;
}

/** One test: run it under any test runner, or by hand. It throws an AssertionError when the driver fails. */
export interface ConformanceCase {
  /** Says why when the case is skipped. */
  readonly name: string;
  readonly isSkipped: boolean;
  run(): Promise<void>;
}

/** Long enough for any delivery that must come. */
export const arriveMs = 15_000;
/** A claim that a case waits to see running out. */
export const shortClaimMs = 400;

/** One case's world: an engine, one topic, and short hands for what the cases do. */
export class Stage implements AsyncDisposable {
  readonly topic = "conformance";
  readonly harness: TopicHarness;

  constructor(harness: TopicHarness) {
    this.harness = harness;
  }

  get topics(): Topics {
    return this.harness.topics;
  }

  writer(runId?: string): Promise<TopicWriter<BatchInfo>> {
    const run = runId === undefined ? {} : { runId };
    return this.topics.writer(BatchInfoSchema, { topic: this.topic, ...run });
  }

  reader(
    group: string,
    options: Partial<TopicReaderOptions> = {},
    topics = this.topics,
  ): Promise<TopicReader<BatchInfo>> {
    return topics.reader(BatchInfoSchema, { topic: this.topic, group, ...options });
  }

  /** Sends messages named by number, each with its name as key. */
  async send(from: number, to: number, writer?: TopicWriter<BatchInfo>): Promise<void> {
    const target = writer ?? (await this.writer());
    const messages = Array.from({ length: to - from }, (_, i) => outgoing(from + i));
    await target.sendMany(messages);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.harness[Symbol.asyncDispose]();
  }
}

function outgoing(n: number) {
  return { message: named(`m${n}`), key: `m${n}` };
}

/** A message that carries a name. */
export function named(name: string): BatchInfo {
  return create(BatchInfoSchema, { storageKey: name });
}

/** The names of messages, in the order given. */
export function names(messages: readonly TopicMessage<BatchInfo>[]): string[] {
  return messages.map(({ payload }) => payload.storageKey);
}

/** Polls until `count` messages came. */
export async function take(
  reader: TopicReader<BatchInfo>,
  count: number,
): Promise<TopicMessage<BatchInfo>[]> {
  const taken: TopicMessage<BatchInfo>[] = [];
  while (taken.length < count) {
    const more = await reader.pollMany(count - taken.length, arriveMs);
    if (more.length === 0) throw new Error(`Only ${taken.length} of ${count} messages came.`);
    taken.push(...more);
  }
  return taken;
}

/** The one message that must come. */
export async function takeOne(reader: TopicReader<BatchInfo>): Promise<TopicMessage<BatchInfo>> {
  const [message] = await take(reader, 1);
  return message as TopicMessage<BatchInfo>;
}
