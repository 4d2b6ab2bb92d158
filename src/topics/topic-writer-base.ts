import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { validateRunId } from "../database/index.ts";
import {
  Counter,
  ErrorLog,
  latencyMetrics,
  type OperationalError,
  SlidingWindowCounter,
  TimedOperation,
} from "../monitoring/index.ts";
import type { InTransaction, Outgoing, SendOutcome, TopicSendOptions, TopicWriter } from "./topic.ts";
import { TopicEnd } from "./topic-end.ts";
import { checkKey } from "./topic-options.ts";

/** Messages as a driver stores them: the key and the payload of each stand at the same place of two lists. */
export interface EncodedMessages {
  /** Empty without a run. */
  readonly runId: string;
  /** Null: the message has no key, and is always stored. */
  readonly keys: readonly (string | null)[];
  readonly payloads: readonly Uint8Array[];
}

/**
 * What all writers have in common: encoding, the run, metrics. A driver stores. docs/guides/own-topic.md makes one.
 */
export abstract class TopicWriterBase<Desc extends DescMessage>
  extends TopicEnd
  implements TopicWriter<MessageShape<Desc>>
{
  readonly #schema: Desc;
  readonly #errors = new ErrorLog();
  readonly #send: TimedOperation;
  readonly #sent = new Counter();
  readonly #duplicates = new Counter();
  readonly #rate: SlidingWindowCounter;
  #runId: string;

  /** @param windowSeconds of rates and percentiles; 5 by default */
  constructor(schema: Desc, topic: string, runId: string | undefined, windowSeconds?: number) {
    super(topic, `The writer of topic ${topic}`);
    this.#schema = schema;
    this.#send = new TimedOperation({
      code: "TOPIC_SEND_FAILED",
      message: "Failed to send to topic",
      errors: this.#errors,
      windowSeconds,
    });
    this.#rate = new SlidingWindowCounter(windowSeconds);
    this.#runId = runId === undefined ? "" : validateRunId(runId);
  }

  /**
   * Stores the messages for every group, and says of each whether it was stored or its key was there already.
   *
   * @throws TallymanError UNSUPPORTED_BY_DRIVER for a `tx` that the engine can't join
   */
  protected abstract store(batch: EncodedMessages, tx: InTransaction["tx"]): Promise<SendOutcome[]>;

  setSimulationRun(runId: string): void {
    this.#runId = validateRunId(runId);
  }

  async send(message: MessageShape<Desc>, { key, tx }: TopicSendOptions = {}): Promise<SendOutcome> {
    const outgoing = key === undefined ? { message } : { message, key };
    const [outcome = "sent"] = await this.sendMany([outgoing], tx && { tx });
    return outcome;
  }

  async sendMany(
    messages: readonly Outgoing<MessageShape<Desc>>[],
    { tx }: InTransaction = {},
  ): Promise<SendOutcome[]> {
    this.refuseClosed();
    if (messages.length === 0) return [];
    const batch = {
      runId: this.#runId,
      keys: messages.map(({ key }) => (key === undefined ? null : checkKey(key))),
      payloads: messages.map(({ message }) => toBinary(this.#schema, message)),
    };
    const outcomes = await this.#send.run(`Topic: ${this.topic}`, () => this.store(batch, tx));
    this.#count(outcomes);
    return outcomes;
  }

  getMetrics(): Readonly<Record<string, number>> {
    return {
      messages_sent: this.#sent.value,
      messages_sent_per_sec: this.#rate.getRate(),
      duplicate_sends: this.#duplicates.value,
      send_errors: this.#send.failures.value,
      error_count: this.#errors.size,
      ...latencyMetrics("send_latency", this.#send.latency),
    };
  }

  getErrors(): readonly OperationalError[] {
    return this.#errors.list();
  }

  clearErrors(): void {
    this.#errors.clear();
  }

  #count(outcomes: readonly SendOutcome[]): void {
    const sent = outcomes.filter((outcome) => outcome === "sent").length;
    this.#sent.increment(sent);
    this.#rate.recordCount(sent);
    this.#duplicates.increment(outcomes.length - sent);
  }
}
