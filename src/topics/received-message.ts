import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { TallymanError } from "../errors/index.ts";
import type { TopicMessage } from "./topic.ts";

/** A message as a driver hands it out: the payload is still bytes. */
export type UndecodedMessage = Omit<TopicMessage<unknown>, "payload">;

/**
 * A message whose payload is decoded at the first look, so that one damaged message does not keep the
 * others of its poll from being handed out.
 */
export class ReceivedMessage<Desc extends DescMessage> implements TopicMessage<MessageShape<Desc>> {
  readonly topic: string;
  readonly group: string;
  readonly runId: string | undefined;
  readonly position: number;
  readonly key: string | undefined;
  readonly bytes: Uint8Array;
  readonly publishedAt: Date;
  readonly deliveries: number;
  readonly claimVersion: number;
  readonly #schema: Desc;
  #payload: MessageShape<Desc> | undefined;

  constructor(schema: Desc, received: UndecodedMessage) {
    this.#schema = schema;
    this.topic = received.topic;
    this.group = received.group;
    this.runId = received.runId;
    this.position = received.position;
    this.key = received.key;
    this.bytes = received.bytes;
    this.publishedAt = received.publishedAt;
    this.deliveries = received.deliveries;
    this.claimVersion = received.claimVersion;
  }

  get payload(): MessageShape<Desc> {
    this.#payload ??= this.#decode();
    return this.#payload;
  }

  #decode(): MessageShape<Desc> {
    try {
      return fromBinary(this.#schema, this.bytes);
    } catch (cause) {
      const { topic, position } = this;
      throw new TallymanError(
        "TOPIC_PAYLOAD_INVALID",
        `Message ${position} of topic ${topic} is not a ${this.#schema.typeName}: ${(cause as Error).message}. Dead-letter it.`,
        { cause, details: { topic, position, messageType: this.#schema.typeName } },
      );
    }
  }
}
