import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { validateRunId } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import type { OperationalError } from "../monitoring/index.ts";
import { throwIfAborted } from "../runtime/index.ts";
import { deadLetterBytes } from "./dead-letter.ts";
import { ReaderMetrics } from "./reader-metrics.ts";
import { ReceivedMessage, type UndecodedMessage } from "./received-message.ts";
import { refuseStale, type Settlement, StaleMessageError } from "./stale-message-error.ts";
import type {
  DeadLetterOptions,
  InTransaction,
  NackOptions,
  TopicCapabilities,
  TopicMessage,
  TopicReader,
} from "./topic.ts";
import { TopicEnd } from "./topic-end.ts";
import { checkMs, checkPoll, type ResolvedReaderOptions } from "./topic-options.ts";

/** What a poll asks a driver for; its values are checked. */
export interface PollRequest {
  /** Only messages of this run; empty: those that were sent without one. */
  readonly runId: string;
  /** Messages at most. */
  readonly max: number;
  /** How long to wait for the first of them; 0 only looks. */
  readonly timeoutMs: number;
  /** Ends the wait with the error ABORTED. */
  readonly signal: AbortSignal | undefined;
}

type Messages<Desc extends DescMessage> = readonly TopicMessage<MessageShape<Desc>>[];

/**
 * What all readers have in common: arguments, the run, decoding, metrics, and the error at the edge for
 * what the driver reports as stale. A driver receives and settles. docs/guides/own-topic.md makes one.
 */
export abstract class TopicReaderBase<Desc extends DescMessage>
  extends TopicEnd
  implements TopicReader<MessageShape<Desc>>
{
  readonly group: string;
  protected readonly options: ResolvedReaderOptions;
  protected readonly metrics: ReaderMetrics;
  readonly #schema: Desc;
  #runId: string;

  /** @param windowSeconds of rates and percentiles; 5 by default */
  constructor(schema: Desc, options: ResolvedReaderOptions, windowSeconds?: number) {
    super(options.topic, `The reader of topic ${options.topic} for group ${options.group}`);
    this.metrics = new ReaderMetrics(windowSeconds);
    this.#schema = schema;
    this.options = options;
    this.group = options.group;
    this.#runId = options.runId === undefined ? "" : validateRunId(options.runId);
  }

  abstract readonly capabilities: TopicCapabilities;

  get deadLetterTopic(): string {
    return this.options.deadLetterTopic;
  }

  get claimTimeoutMs(): number {
    return this.options.claimTimeoutMs;
  }

  /**
   * Claims messages in the order of their positions; waits until there is one, or the time is over.
   *
   * @throws TallymanError TOPIC_GROUP_NOT_FOUND, ABORTED
   */
  protected abstract receive(request: PollRequest): Promise<UndecodedMessage[]>;
  /** Ends messages for the group. Returns the positions that were still held, as all settlements do. */
  protected abstract acknowledge(messages: Messages<Desc>, tx: InTransaction["tx"]): Promise<Set<number>>;
  /** Lets another consumer have a message, after a delay. */
  protected abstract handBack(
    message: TopicMessage<unknown>,
    options: { delayMs: number; error: string | undefined },
  ): Promise<Set<number>>;
  /** Begins the claims' time anew. */
  protected abstract extendClaims(messages: Messages<Desc>): Promise<Set<number>>;
  /** Puts the letter into the topic {@link deadLetterTopic} and ends the message, as one step if the engine can. */
  protected abstract moveToDeadLetters(
    message: TopicMessage<unknown>,
    letter: Uint8Array,
    tx: InTransaction["tx"],
  ): Promise<Set<number>>;

  setSimulationRun(runId: string): void {
    this.#runId = validateRunId(runId);
  }

  async poll(timeoutMs: number, signal?: AbortSignal): Promise<TopicMessage<MessageShape<Desc>> | undefined> {
    const [message] = await this.pollMany(1, timeoutMs, signal);
    return message;
  }

  async pollMany(
    max: number,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<TopicMessage<MessageShape<Desc>>[]> {
    checkPoll(max, timeoutMs);
    this.refuseClosed();
    throwIfAborted(signal);
    const received = await this.receive({ runId: this.#runId, max, timeoutMs, signal });
    this.metrics.received(received);
    return received.map((message) => new ReceivedMessage(this.#schema, message));
  }

  async ack(messages: TopicMessage<MessageShape<Desc>> | Messages<Desc>, { tx }: InTransaction = {}) {
    const given = this.#own(messages);
    if (given.length === 0) return;
    const settled = await this.metrics.ack.run(this.#details(given), () => this.acknowledge(given, tx));
    this.metrics.acknowledged.increment(settled.size);
    this.#refuseStale("ack", given, settled);
  }

  async nack(message: TopicMessage<MessageShape<Desc>>, { delayMs = 0, error }: NackOptions = {}) {
    checkMs("delayMs", delayMs, 0);
    const given = this.#own(message);
    const settled = await this.handBack(message, { delayMs, error });
    this.metrics.handedBack.increment(settled.size);
    this.#refuseStale("nack", given, settled);
  }

  async extend(messages: TopicMessage<MessageShape<Desc>> | Messages<Desc>) {
    const given = this.#own(messages);
    if (given.length === 0) return;
    this.#refuseStale("extend", given, await this.extendClaims(given));
  }

  async deadLetter(message: TopicMessage<MessageShape<Desc>>, options: DeadLetterOptions) {
    const given = this.#own(message);
    const letter = deadLetterBytes(message, this.#schema.typeName, options);
    const settled = await this.moveToDeadLetters(message, letter, options.tx);
    this.metrics.deadLettered.increment(settled.size);
    this.#refuseStale("dead-letter", given, settled);
  }

  getMetrics(): Readonly<Record<string, number>> {
    return this.metrics.values();
  }

  getErrors(): readonly OperationalError[] {
    return this.metrics.errors.list();
  }

  clearErrors(): void {
    this.metrics.errors.clear();
  }

  /** As a list in the order of positions, the one order in which rows are locked. */
  #own(messages: TopicMessage<MessageShape<Desc>> | Messages<Desc>): Messages<Desc> {
    this.refuseClosed();
    const list = Array.isArray(messages)
      ? (messages as Messages<Desc>)
      : [messages as TopicMessage<MessageShape<Desc>>];
    const foreign = list.find(({ topic, group }) => topic !== this.topic || group !== this.group);
    if (foreign) {
      throw new TallymanError(
        "INVALID_OPTION",
        `Message ${foreign.position} belongs to topic ${foreign.topic} and group ${foreign.group}, not to this reader of ${this.topic} for ${this.group}.`,
      );
    }
    return list.toSorted((a, b) => a.position - b.position);
  }

  #refuseStale(settlement: Settlement, given: Messages<Desc>, settled: Set<number>): void {
    try {
      refuseStale(settlement, given, settled);
    } catch (error) {
      if (error instanceof StaleMessageError) this.metrics.stale.increment(error.messages.length);
      throw error;
    }
  }

  #details(messages: Messages<Desc>): string {
    return `Topic: ${this.topic}, group: ${this.group}, messages: ${messages.length}`;
  }
}
