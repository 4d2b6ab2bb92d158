import { TallymanError, type TopicMessage } from "../../src/index.ts";

/** A message of a topic. A dead letter also knows what it is about. */
export interface Stored {
  readonly position: number;
  readonly runId: string;
  readonly key: string | null;
  readonly bytes: Uint8Array;
  readonly publishedAt: Date;
  readonly origin?: { readonly group: Group; readonly message: Stored };
}

/** What a group has not acknowledged. */
export class Delivery {
  readonly message: Stored;
  state: "ready" | "claimed" | "delayed" = "ready";
  /** When the claim or the delay ends. */
  untilMs = 0;
  deliveries = 0;
  claimVersion = 0;

  constructor(message: Stored) {
    this.message = message;
  }

  isDue(): boolean {
    return this.state === "ready" || this.untilMs <= performance.now();
  }
}

/** A consumer group. */
export class Group {
  readonly createdAt = new Date();
  /** By position. */
  readonly open = new Map<number, Delivery>();
  isPaused = false;
  isDeleted = false;

  /** Those of the messages that are still held under the version that they were handed out with. */
  held(messages: readonly TopicMessage<unknown>[]): Delivery[] {
    return messages.flatMap(({ position, claimVersion }) => {
      const delivery = this.open.get(position);
      return delivery?.state === "claimed" && delivery.claimVersion === claimVersion ? [delivery] : [];
    });
  }
}

/** A log of messages, and the groups that read it. */
export class Topic {
  readonly name: string;
  readonly messageType: string;
  /** The topic whose dead letters this one holds. */
  readonly deadLettersOf: string | null;
  readonly messages: Stored[] = [];
  readonly groups = new Map<string, Group>();
  retentionMs: number | null = null;

  constructor(name: string, messageType: string, deadLettersOf: string | null) {
    this.name = name;
    this.messageType = messageType;
    this.deadLettersOf = deadLettersOf;
  }

  add(message: Stored): void {
    this.messages.push(message);
    for (const group of this.groups.values()) group.open.set(message.position, new Delivery(message));
  }
}

/** The engine: what a server would hold. */
export class Memory {
  readonly topics = new Map<string, Topic>();
  #last = 0;

  /** Positions and claim versions: never used twice. */
  next(): number {
    return ++this.#last;
  }

  topic(name: string): Topic {
    const topic = this.topics.get(name);
    if (topic) return topic;
    throw new TallymanError("TOPIC_NOT_FOUND", `There is no topic '${name}'.`);
  }

  ensureTopic(name: string, messageType: string, deadLettersOf: string | null = null): Topic {
    const topic = this.topics.get(name) ?? new Topic(name, messageType, deadLettersOf);
    if (topic.messageType !== messageType)
      throw new TallymanError("TOPIC_TYPE_MISMATCH", `Topic '${name}' holds ${topic.messageType}.`);
    this.topics.set(name, topic);
    return topic;
  }

  group(topic: string, name: string): Group {
    const group = this.topics.get(topic)?.groups.get(name);
    if (group) return group;
    throw new TallymanError("TOPIC_GROUP_NOT_FOUND", `Topic '${topic}' has no group '${name}'.`);
  }
}
