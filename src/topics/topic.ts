import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import type { CallerClient, Transaction } from "../database/index.ts";
import type { Monitorable } from "../monitoring/index.ts";

/** What a driver can promise beyond the common ground; code that relies on one asks for it first. */
export interface TopicCapabilities {
  /** send, ack and deadLetter take a `tx` and commit with it. */
  readonly transactionalAck: boolean;
  /** A stale ack, nack or extend is refused by the server itself, whatever clocks and networks do. */
  readonly fencedAck: boolean;
  /** A key is recognised for as long as its message is kept; otherwise within a window of time. */
  readonly unboundedIdempotency: boolean;
  /** Retention spares what some group has not acknowledged. */
  readonly retentionSparesUnacknowledged: boolean;
  /** A re-driven message keeps its position. */
  readonly redriveKeepsPosition: boolean;
}

/** A caller's transaction: the write commits or rolls back with it. Postgres only. */
export interface InTransaction {
  readonly tx?: Transaction | CallerClient;
}

/** How one message is sent. */
export interface TopicSendOptions extends InTransaction {
  /**
   * A second message with this key, in the same topic and run, is not stored. At most 512 letters. Default: no key.
   */
  readonly key?: string;
}

/** One message of {@link TopicWriter.sendMany}. */
export interface Outgoing<T> {
  readonly message: T;
  readonly key?: string;
}

/** Whether a message was stored, or its key was there already. */
export type SendOutcome = "sent" | "duplicate";

/** A message as a consumer holds it. */
export interface TopicMessage<T> {
  readonly topic: string;
  readonly group: string;
  /** Simulation run; undefined for a message sent without one. */
  readonly runId: string | undefined;
  /** Place in the topic, growing in the order of publishing. */
  readonly position: number;
  readonly key: string | undefined;
  /** Decoded at the first look. @throws TallymanError TOPIC_PAYLOAD_INVALID when the bytes are damaged */
  readonly payload: T;
  /** The payload as it was sent. */
  readonly bytes: Uint8Array;
  readonly publishedAt: Date;
  /** How often it was handed out to this group, this time included. */
  readonly deliveries: number;
  /** Token of this claim: greater than that of any earlier claim of the message. */
  readonly claimVersion: number;
}

/**
 * Publishes to one topic. Safe for concurrent use; order is kept within one call and between calls that
 * are awaited one after the other.
 */
export interface TopicWriter<T extends Message> extends Monitorable, AsyncDisposable {
  readonly topic: string;
  /**
   * Sends from now on belong to this run.
   *
   * @throws TallymanError RUN_ID_INVALID
   */
  setSimulationRun(runId: string): void;
  /**
   * Stores a message for every consumer group.
   *
   * @throws TallymanError UNSUPPORTED_BY_DRIVER for a `tx` that the driver can't join
   */
  send(message: T, options?: TopicSendOptions): Promise<SendOutcome>;
  /** Stores many messages in their order: all or none with `transactionalAck`, else those up to a failure. */
  sendMany(messages: readonly Outgoing<T>[], options?: InTransaction): Promise<SendOutcome[]>;
  /** Ends the writer. Safe to call twice. */
  close(): Promise<void>;
}

/** How a message is handed back. */
export interface NackOptions {
  /** How long nobody gets it. Default 0. */
  readonly delayMs?: number;
  /** Why; kept beside the message where the driver can. */
  readonly error?: string;
}

/** Why a message is given up. */
export interface DeadLetterOptions extends InTransaction {
  readonly error: unknown;
  readonly sourceService: string;
  /** Default: deliveries - 1. */
  readonly retryCount?: number;
  /** When it failed for the first time, by the wall clock. Default: now. */
  readonly firstFailureTimeMs?: number;
}

/**
 * Consumes one topic as a member of one group. Safe for concurrent use. A message that was handed out
 * belongs to the caller until it is acknowledged, handed back, dead-lettered, or its claim runs out.
 */
export interface TopicReader<T extends Message> extends Monitorable, AsyncDisposable {
  readonly topic: string;
  readonly group: string;
  /** What its driver promises. */
  readonly capabilities: TopicCapabilities;
  /** A message held longer goes to another consumer, unless it is extended; 0: never. */
  readonly claimTimeoutMs: number;
  /** Where {@link deadLetter} puts letters. */
  readonly deadLetterTopic: string;
  /**
   * Polls from now on see this run's messages only.
   *
   * @throws TallymanError RUN_ID_INVALID
   */
  setSimulationRun(runId: string): void;
  /**
   * Waits up to `timeoutMs` for a message; undefined when none came. 0 only looks.
   *
   * @throws TallymanError ABORTED as soon as the signal is aborted; TOPIC_GROUP_NOT_FOUND
   */
  poll(timeoutMs: number, signal?: AbortSignal): Promise<TopicMessage<T> | undefined>;
  /** Like {@link poll}, for up to `max` messages: returns as soon as there is at least one. */
  pollMany(max: number, timeoutMs: number, signal?: AbortSignal): Promise<TopicMessage<T>[]>;
  /**
   * The messages are done: the group never gets them again.
   *
   * @throws StaleMessageError naming those that the caller no longer holds; the others are acknowledged,
   * unless the caller's `tx` is rolled back
   */
  ack(messages: TopicMessage<T> | readonly TopicMessage<T>[], options?: InTransaction): Promise<void>;
  /**
   * Hands a message back.
   *
   * @throws StaleMessageError
   */
  nack(message: TopicMessage<T>, options?: NackOptions): Promise<void>;
  /**
   * Begins the claim timeout of these messages anew.
   *
   * @throws StaleMessageError naming those that are lost; the others are extended
   */
  extend(messages: TopicMessage<T> | readonly TopicMessage<T>[]): Promise<void>;
  /**
   * Gives a message up: a {@link DeadLetterMessage} in the dead-letter topic takes its place.
   *
   * @throws StaleMessageError
   */
  deadLetter(message: TopicMessage<T>, options: DeadLetterOptions): Promise<void>;
  /** Ends the reader; what it holds stays held until the claims run out. Safe to call twice. */
  close(): Promise<void>;
}

/** How a writer is opened. */
export interface TopicWriterOptions {
  readonly topic: string;
  /** See {@link TopicWriter.setSimulationRun}. Default: none. */
  readonly runId?: string;
}

/** How a reader is opened. */
export interface TopicReaderOptions {
  readonly topic: string;
  /** Consumer group: its members compete, other groups get every message as well. */
  readonly group: string;
  /** Where the group starts when it is new. Default `beginning`. */
  readonly startAt?: "beginning" | "now";
  /** See {@link TopicReader.setSimulationRun}. Default: none. */
  readonly runId?: string;
  /** A message held longer goes to another consumer. Default 300,000; 0: never. */
  readonly claimTimeoutMs?: number;
  /** How often an idle poll looks without a hint. Default 1,000. */
  readonly pollIntervalMs?: number;
  /** Where given-up messages go. Default `<topic>-dead-letters`. */
  readonly deadLetterTopic?: string;
}

/** A topic, as listed. */
export interface TopicInfo {
  readonly name: string;
  readonly messageType: string;
  readonly messages: number;
  readonly groups: number;
  /** Null: messages are kept for ever. */
  readonly retentionMs: number | null;
  /** The topic whose dead letters this one holds. */
  readonly deadLettersOf: string | null;
}

/** A consumer group and how far it is behind. */
export interface GroupInfo {
  readonly topic: string;
  readonly group: string;
  readonly isPaused: boolean;
  readonly createdAt: Date;
  /** Messages that it has not acknowledged: ready, claimed and delayed. */
  readonly messages: number;
  readonly ready: number;
  readonly claimed: number;
  readonly delayed: number;
  /** Age of the oldest of them; null when there is none. */
  readonly oldestAgeMs: number | null;
}

/** Where a group goes on: everything from there on is delivered (again), nothing before. */
export type SeekTarget = "beginning" | "end" | { readonly position: number } | { readonly time: Date };

/** How far a seek reaches. */
export interface SeekOptions {
  /** Only this run's messages. Default: all runs. NATS, which has one position per group, moves it in all of them. */
  readonly runId?: string;
}

/** Which dead letters go back. */
export interface RedriveOptions {
  /** Only those of this group. */
  readonly group?: string;
  /** Only those of this run. */
  readonly runId?: string;
  /** At most so many, oldest first. Default 10,000. */
  readonly limit?: number;
}

/**
 * The role: topics on one engine. Drivers: {@link PostgresTopics}, {@link NatsTopics}.
 *
 * @example
 * ```ts
 * const writer = await topics.writer(BatchInfoSchema, { topic: "batch-topic" });
 * await writer.send(info, { key: info.storageKey });
 *
 * const reader = await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "dummy-indexer" });
 * const message = await reader.poll(5_000);
 * if (message) await reader.ack(message);
 * ```
 */
export interface Topics extends AsyncDisposable {
  readonly capabilities: TopicCapabilities;
  /** @throws TallymanError TOPIC_TYPE_MISMATCH when the topic holds messages of another type */
  writer<Desc extends DescMessage>(
    schema: Desc,
    options: TopicWriterOptions,
  ): Promise<TopicWriter<MessageShape<Desc>>>;
  /** @throws TallymanError TOPIC_TYPE_MISMATCH when the topic holds messages of another type */
  reader<Desc extends DescMessage>(
    schema: Desc,
    options: TopicReaderOptions,
  ): Promise<TopicReader<MessageShape<Desc>>>;
  /** By name. */
  listTopics(): Promise<TopicInfo[]>;
  /**
   * The groups of one topic or of all, with their lag.
   *
   * @param options.runId count this run's messages only
   * @throws TallymanError TOPIC_NOT_FOUND
   */
  listGroups(topic?: string, options?: { readonly runId?: string }): Promise<GroupInfo[]>;
  /** No member gets messages until {@link resumeGroup}. @throws TallymanError TOPIC_GROUP_NOT_FOUND */
  pauseGroup(topic: string, group: string): Promise<void>;
  /** @throws TallymanError TOPIC_GROUP_NOT_FOUND */
  resumeGroup(topic: string, group: string): Promise<void>;
  /**
   * Moves a group. Messages that its members hold become stale.
   *
   * @throws TallymanError TOPIC_GROUP_NOT_FOUND
   */
  seekGroup(topic: string, group: string, target: SeekTarget, options?: SeekOptions): Promise<void>;
  /** Its readers fail from now on. @throws TallymanError TOPIC_GROUP_NOT_FOUND */
  deleteGroup(topic: string, group: string): Promise<void>;
  /** @param retentionMs null: keep for ever @throws TallymanError TOPIC_NOT_FOUND */
  setRetention(topic: string, retentionMs: number | null): Promise<void>;
  /** Deletes what retention no longer keeps, in bounded steps; returns how many messages went. */
  sweepRetention(): Promise<number>;
  /**
   * Sends a topic's dead letters back to the groups that gave them up; returns how many went.
   *
   * @throws TallymanError TOPIC_NOT_FOUND
   */
  redrive(topic: string, options?: RedriveOptions): Promise<number>;
  close(): Promise<void>;
}
