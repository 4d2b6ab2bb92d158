import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import {
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type StoredMsg,
  type StreamInfo,
} from "@nats-io/jetstream";
import { connect, headers, type NatsConnection, nanos } from "@nats-io/transport-node";
import { DeadLetterMessageSchema } from "../contracts/index.ts";
import { isTallymanError, TallymanError } from "../errors/index.ts";
import { required, resolveOptions, wholeNumber } from "../runtime/index.ts";
import { deadLetterType } from "./dead-letter.ts";
import { runLag } from "./nats/consumers.ts";
import { persistently } from "./nats/failures.ts";
import { type GroupState, NatsGroups } from "./nats/groups.ts";
import {
  onlyGroupHeader,
  originGroupHeader,
  runOf,
  streamOf,
  subjectOf,
  subjectsOf,
  topicOf,
} from "./nats/names.ts";
import {
  describe,
  ensureGroupStream,
  ensureTopicStream,
  findTopicStream,
  nextMessage,
  type StreamSettings,
  subjectCounts,
} from "./nats/streams.ts";
import { OpenEnds } from "./open-ends.ts";
import type {
  GroupInfo,
  RedriveOptions,
  SeekTarget,
  TopicCapabilities,
  TopicInfo,
  TopicReader,
  TopicReaderOptions,
  Topics,
  TopicWriter,
  TopicWriterOptions,
} from "./topic.ts";
import { natsCapabilities } from "./topic-capabilities.ts";
import { groupNotFound, topicNotFound, typeMismatch } from "./topic-errors.ts";
import { NatsTopicReader } from "./topic-nats-reader.ts";
import { NatsTopicWriter } from "./topic-nats-writer.ts";
import {
  checkMs,
  claimTimeoutMsDefault,
  redriveLimitDefault,
  resolveReaderOptions,
  resolveWriterOptions,
} from "./topic-options.ts";

/** How to reach NATS, and how streams are made. */
export interface NatsTopicsOptions {
  /** `nats://user:password@host:4222`, several separated by commas. */
  readonly servers: string;
  /** Copies of each stream in a cluster: 1, 3 or 5. Default 1. */
  readonly replicas?: number;
  /** How long a key is recognised. Default 3,600,000. */
  readonly duplicateWindowMs?: number;
}

const duplicateWindowMsDefault = 3_600_000;
const replicasMax = 5;
/** JetStream keeps nothing for less. */
const retentionMsMin = 100;
const millisPerNano = 1e-6;

/**
 * Topics in NATS JetStream: a stream per topic, a durable pull consumer per group and run. Owns its
 * connection. See docs/nats.md for what it does not promise.
 *
 * @example
 * ```ts
 * await using topics = await NatsTopics.connect({ servers: "nats://localhost:4222", replicas: 3 });
 * const writer = await topics.writer(BatchInfoSchema, { topic: "batch-topic" });
 * ```
 */
export class NatsTopics implements Topics {
  readonly capabilities: TopicCapabilities = natsCapabilities;
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #groups: NatsGroups;
  readonly #settings: StreamSettings;
  readonly #open = new OpenEnds();
  #closed: Promise<void> | undefined;

  private constructor(connection: NatsConnection, manager: JetStreamManager, settings: StreamSettings) {
    this.#connection = connection;
    this.#manager = manager;
    this.#client = jetstream(connection);
    this.#groups = new NatsGroups(this.#client, manager);
    this.#settings = settings;
  }

  /** @throws TallymanError NATS_UNREACHABLE */
  static async connect(given: NatsTopicsOptions): Promise<NatsTopics> {
    const options = resolveOptions<Required<NatsTopicsOptions>>(
      { servers: required, replicas: 1, duplicateWindowMs: duplicateWindowMsDefault },
      given,
      { replicas: wholeNumber({ max: replicasMax }) },
    );
    const connection = await connectTo(options.servers);
    try {
      const manager = await persistently(() => jetstreamManager(connection));
      await ensureGroupStream(manager, options.replicas);
      return new NatsTopics(connection, manager, options);
    } catch (error) {
      await connection.close();
      throw unreachable(options.servers, error);
    }
  }

  async writer<Desc extends DescMessage>(
    schema: Desc,
    given: TopicWriterOptions,
  ): Promise<TopicWriter<MessageShape<Desc>>> {
    const options = resolveWriterOptions(given);
    await this.#ensureTopic(options.topic, schema.typeName);
    return this.#open.track(new NatsTopicWriter(schema, options.topic, options.runId, this.#client));
  }

  async reader<Desc extends DescMessage>(
    schema: Desc,
    given: TopicReaderOptions,
  ): Promise<TopicReader<MessageShape<Desc>>> {
    const options = resolveReaderOptions(given);
    const { topic, group, startAt, deadLetterTopic } = options;
    await this.#ensureTopic(topic, schema.typeName);
    const startSequence = async () => (startAt === "beginning" ? 1 : (await this.#lastSequence(topic)) + 1);
    const target = {
      connection: this.#connection,
      client: this.#client,
      manager: this.#manager,
      groups: this.#groups,
      state: await this.#groups.ensure(topic, group, startSequence),
      ensureDeadLetterTopic: () => this.#ensureTopic(deadLetterTopic, deadLetterType, topic),
    };
    return this.#open.track(new NatsTopicReader(schema, options, target));
  }

  async listTopics(): Promise<TopicInfo[]> {
    const topics: TopicInfo[] = [];
    for await (const stream of this.#manager.streams.list()) {
      const name = topicOf(stream.config.name);
      if (name !== undefined) topics.push(await this.#topicInfo(name, stream));
    }
    return topics.toSorted((a, b) => a.name.localeCompare(b.name));
  }

  async listGroups(topic?: string, options: { readonly runId?: string } = {}): Promise<GroupInfo[]> {
    if (topic === undefined) {
      const names = (await this.listTopics()).map(({ name }) => name);
      return (await Promise.all(names.map((name) => this.listGroups(name, options)))).flat();
    }
    await this.#find(topic);
    const counts = await subjectCounts(this.#manager, streamOf(topic), subjectsOf(topic));
    const runs = Object.keys(counts).map(runOf);
    const counted = runs.filter((runId) => options.runId === undefined || runId === options.runId);
    const groups = await this.#groups.list(topic);
    return Promise.all(groups.map(([group, state]) => this.#groupInfo(topic, group, state, counted)));
  }

  pauseGroup(topic: string, group: string): Promise<void> {
    return this.#change(topic, group, (state) => ({ ...state, isPaused: true }));
  }

  resumeGroup(topic: string, group: string): Promise<void> {
    return this.#change(topic, group, (state) => ({ ...state, isPaused: false }));
  }

  async seekGroup(topic: string, group: string, target: SeekTarget): Promise<void> {
    const startSequence = await this.#sequenceOf(topic, target);
    await this.#change(topic, group, (state) => ({ ...state, epoch: state.epoch + 1, startSequence }));
  }

  deleteGroup(topic: string, group: string): Promise<void> {
    return this.#change(topic, group, (state) => ({ ...state, epoch: state.epoch + 1, isDeleted: true }));
  }

  /** Unlike PostgreSQL, JetStream forgets what is old even when a group has not acknowledged it. */
  async setRetention(topic: string, retentionMs: number | null): Promise<void> {
    if (retentionMs !== null) checkMs("retentionMs", retentionMs, retentionMsMin);
    await this.#find(topic);
    const windowMs = Math.min(this.#settings.duplicateWindowMs, retentionMs ?? Number.POSITIVE_INFINITY);
    await persistently(() =>
      this.#manager.streams.update(streamOf(topic), {
        max_age: nanos(retentionMs ?? 0),
        duplicate_window: nanos(windowMs),
      }),
    );
  }

  /** The server does it by itself. */
  async sweepRetention(): Promise<number> {
    return 0;
  }

  async redrive(topic: string, options: RedriveOptions = {}): Promise<number> {
    const { limit = redriveLimitDefault } = options;
    checkMs("limit", limit, 1);
    await this.#find(topic);
    const groups = new Set((await this.#groups.list(topic)).map(([group]) => group));
    const sources = (await this.listTopics()).filter(({ deadLettersOf }) => deadLettersOf === topic);
    let redriven = 0;
    for (const { name } of sources) {
      for await (const letter of this.#letters(name)) {
        if (redriven === limit) return redriven;
        if (!isChosen(letter, options, groups)) continue;
        await this.#redriveOne(topic, name, letter);
        redriven++;
      }
    }
    return redriven;
  }

  /** Closes every reader and writer that it opened, and the connection. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    try {
      await this.#open.closeAll();
    } finally {
      await this.#connection.close();
    }
  }

  async #ensureTopic(name: string, messageType: string, deadLettersOf?: string): Promise<void> {
    const source = deadLettersOf === undefined ? {} : { deadLettersOf };
    const wanted = { messageType, ...source };
    const found = await ensureTopicStream(this.#manager, name, wanted, this.#settings);
    if (found.messageType !== messageType) throw typeMismatch(name, found.messageType, messageType);
  }

  async #find(topic: string): Promise<StreamInfo> {
    const stream = await findTopicStream(this.#manager, topic);
    if (!stream) throw topicNotFound(topic);
    return stream;
  }

  async #lastSequence(topic: string): Promise<number> {
    return (await this.#find(topic)).state.last_seq;
  }

  async #sequenceOf(topic: string, target: SeekTarget): Promise<number> {
    const last = await this.#lastSequence(topic);
    if (target === "beginning") return 1;
    if (target === "end") return last + 1;
    if ("position" in target) return Math.max(target.position, 1);
    return this.#sequenceAt(topic, target.time, last);
  }

  /** Sequences are in the order of time: halving finds the first that is not older. */
  async #sequenceAt(topic: string, time: Date, last: number): Promise<number> {
    let [low, high] = [1, last + 1];
    while (low < high) {
      const seq = Math.floor((low + high) / 2);
      const message = await nextMessage(this.#manager, streamOf(topic), {
        seq,
        next_by_subj: subjectsOf(topic),
      });
      if (message && message.time < time) low = message.seq + 1;
      else high = seq;
    }
    return low;
  }

  async #change(topic: string, group: string, change: (state: GroupState) => GroupState): Promise<void> {
    await this.#find(topic);
    const before = await this.#groups.change(topic, group, change);
    if (!before) throw groupNotFound(topic, group);
    if (change(before).epoch !== before.epoch) {
      await this.#groups.deleteConsumers(topic, group, before.epoch);
    }
  }

  async #topicInfo(name: string, { state, config }: StreamInfo): Promise<TopicInfo> {
    const { messageType, deadLettersOf = null } = describe({ config } as StreamInfo);
    const groups = (await this.#groups.list(name)).length;
    const retentionMs = config.max_age > 0 ? config.max_age * millisPerNano : null;
    return { name, messageType, messages: state.messages, groups, retentionMs, deadLettersOf };
  }

  async #groupInfo(
    topic: string,
    group: string,
    state: GroupState,
    runs: readonly string[],
  ): Promise<GroupInfo> {
    const lags = await Promise.all(
      runs.map((runId) => runLag(this.#manager, { topic, group, runId, state }, claimTimeoutMsDefault)),
    );
    const ready = lags.reduce((sum, lag) => sum + lag.ready, 0);
    const claimed = lags.reduce((sum, lag) => sum + lag.claimed, 0);
    const oldest = lags.flatMap(({ oldestAt }) => (oldestAt ? [oldestAt.getTime()] : []));
    return {
      topic,
      group,
      isPaused: state.isPaused,
      createdAt: new Date(state.createdAtMs),
      messages: ready + claimed,
      ready,
      claimed,
      delayed: 0,
      oldestAgeMs: oldest.length > 0 ? Math.max(0, Date.now() - Math.min(...oldest)) : null,
    };
  }

  async *#letters(deadLetterTopic: string): AsyncGenerator<StoredMsg> {
    const query = { seq: 1, next_by_subj: subjectsOf(deadLetterTopic) };
    for (;;) {
      const letter = await nextMessage(this.#manager, streamOf(deadLetterTopic), query);
      if (!letter) return;
      yield letter;
      query.seq = letter.seq + 1;
    }
  }

  /** The id makes a repeat after a crash between the two steps harmless. */
  async #redriveOne(topic: string, deadLetterTopic: string, letter: StoredMsg): Promise<void> {
    const { originalMessage } = fromBinary(DeadLetterMessageSchema, letter.data);
    const only = headers();
    only.set(onlyGroupHeader, letter.header.get(originGroupHeader));
    const msgID = `redrive:${deadLetterTopic}:${letter.seq}:${letter.time.getTime()}`;
    const options = { msgID, headers: only };
    await persistently(() =>
      this.#client.publish(subjectOf(topic, runOf(letter.subject)), originalMessage, options),
    );
    await persistently(() => this.#manager.streams.deleteMessage(streamOf(deadLetterTopic), letter.seq));
  }
}

function isChosen(letter: StoredMsg, { group, runId }: RedriveOptions, groups: ReadonlySet<string>): boolean {
  const origin = letter.header?.get(originGroupHeader) ?? "";
  if (!groups.has(origin)) return false;
  return (
    (group === undefined || group === origin) && (runId === undefined || runId === runOf(letter.subject))
  );
}

async function connectTo(servers: string): Promise<NatsConnection> {
  try {
    return await connect({
      servers: servers.split(",").map((server) => server.trim()),
      name: "tallyman",
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
    });
  } catch (error) {
    throw unreachable(servers, error);
  }
}

function unreachable(servers: string, error: unknown): TallymanError {
  const cause = isTallymanError(error, "NATS_UNREACHABLE") ? error.cause : error;
  const shown = servers.replaceAll(/\/\/[^@/]*@/g, "//***@");
  return new TallymanError(
    "NATS_UNREACHABLE",
    `No NATS server with JetStream answers at ${shown}: ${(cause as Error).message}. Check the address, and that the server runs with JetStream enabled.`,
    { cause, details: { servers: shown } },
  );
}
