import { randomUUID } from "node:crypto";
import type { DescMessage } from "@bufbuild/protobuf";
import type { JetStreamClient } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { persistently } from "./nats/failures.ts";
import { keyHeader, subjectOf } from "./nats/names.ts";
import type { InTransaction, SendOutcome } from "./topic.ts";
import { unsupported } from "./topic-errors.ts";
import { type EncodedMessages, TopicWriterBase } from "./topic-writer-base.ts";

/** Messages on their way to the server at once. */
const inFlightMax = 500;

/** Publishes with a message id, so that a repeated publish is recognised within the server's window. */
export class NatsTopicWriter<Desc extends DescMessage> extends TopicWriterBase<Desc> {
  readonly #client: JetStreamClient;

  constructor(schema: Desc, topic: string, runId: string | undefined, client: JetStreamClient) {
    super(schema, topic, runId);
    this.#client = client;
  }

  protected override async store(batch: EncodedMessages, tx: InTransaction["tx"]): Promise<SendOutcome[]> {
    if (tx) throw unsupported("NATS can't send in a transaction of PostgreSQL.");
    const outcomes: SendOutcome[] = [];
    for (let from = 0; from < batch.keys.length; from += inFlightMax) {
      const indexes = batch.keys.slice(from, from + inFlightMax).map((_, i) => from + i);
      outcomes.push(...(await Promise.all(indexes.map((index) => this.#publish(batch, index)))));
    }
    return outcomes;
  }

  /** One connection keeps the order; a message without a key gets an id too, for the sake of repeats. */
  async #publish({ runId, keys, payloads }: EncodedMessages, index: number): Promise<SendOutcome> {
    const key = keys[index] ?? null;
    const msgID = key === null ? randomUUID() : `${runId}:${key}`;
    const options = { msgID, ...(key !== null && { headers: keyHeaders(key) }) };
    let attempts = 0;
    const { duplicate } = await persistently(() => {
      attempts++;
      return this.#client.publish(subjectOf(this.topic, runId), payloads[index], options);
    });
    // Only a key makes duplicates; of a repeat we can't know whether it met its own first try.
    return duplicate && key !== null && attempts === 1 ? "duplicate" : "sent";
  }
}

function keyHeaders(key: string) {
  const made = headers();
  made.set(keyHeader, encodeURIComponent(key));
  return made;
}
