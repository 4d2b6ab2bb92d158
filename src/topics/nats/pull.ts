import { createInbox, type Msg, type NatsConnection, nanos } from "@nats-io/transport-node";
import { TallymanError } from "../../errors/index.ts";
import { sleep } from "../../runtime/index.ts";

/** A server that does not answer a pull in time is taken for gone. */
const answerGraceMs = 2_000;
/** No messages, or the request's time is over. */
const endOfRequest = new Set([404, 408]);
/** The consumer was deleted or has no leader; nobody answers at all. */
const noConsumer = new Set([409, 503]);

/** Messages of one pull, and how it ended. */
export interface Pulled {
  readonly messages: readonly Msg[];
  /** `done`: filled or out of time. `no-consumer`: the consumer is gone, or nobody leads it at the moment. */
  readonly end: "done" | "no-consumer";
}

/**
 * Asks a durable pull consumer for up to `batch` messages. Ends when they are there or `expiresMs` have
 * passed on the server, so that no message can be on its way to a reader that has left.
 */
export async function pull(
  connection: NatsConnection,
  request: { stream: string; consumer: string; batch: number; expiresMs: number },
): Promise<Pulled> {
  const { stream, consumer, batch, expiresMs } = request;
  const inbox = createInbox();
  const subscription = connection.subscribe(inbox);
  const timer = new AbortController();
  sleep(expiresMs + answerGraceMs, timer.signal).then(
    () => subscription.unsubscribe(),
    () => undefined,
  );
  try {
    const body = JSON.stringify({ batch, expires: nanos(Math.ceil(expiresMs)) });
    connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, body, { reply: inbox });
    const messages: Msg[] = [];
    for await (const message of subscription) {
      const status = message.headers?.code ?? 0;
      if (status === 0) messages.push(message);
      else if (endOfRequest.has(status)) break;
      else if (noConsumer.has(status)) return { messages, end: "no-consumer" };
      else throw refused(consumer, message);
      if (messages.length === batch) break;
    }
    return { messages, end: "done" };
  } finally {
    timer.abort();
    subscription.unsubscribe();
  }
}

function refused(consumer: string, { headers }: Msg): TallymanError {
  return new TallymanError(
    "INTERNAL",
    `NATS refused a pull from consumer ${consumer}: ${headers?.code} ${headers?.description}`,
  );
}

/** What the reply subject of a delivered message says: `$JS.ACK.[domain.account.]stream.consumer.…`. */
export interface Delivery {
  readonly deliveries: number;
  readonly streamSequence: number;
  readonly publishedAt: Date;
  /** Messages that the consumer has not handed out yet. */
  readonly pending: number;
}

const shortForm = 9;

export function deliveryOf(message: Msg): Delivery {
  const tokens = (message.reply ?? "").split(".");
  const at = tokens.length === shortForm ? 4 : 6;
  const [deliveries = 0, streamSequence = 0, , timeNs = 0, pending = 0] = tokens.slice(at).map(Number);
  return { deliveries, streamSequence, publishedAt: new Date(timeNs / 1e6), pending };
}
