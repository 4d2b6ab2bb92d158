import { setTimeout as sleep } from "node:timers/promises";
import type { DescMessage } from "@bufbuild/protobuf";
import {
  DeadLetterMessageSchema,
  type EncodedMessages,
  type PollRequest,
  type ResolvedReaderOptions,
  type SendOutcome,
  TallymanError,
  type TopicCapabilities,
  type TopicMessage,
  TopicReaderBase,
  TopicWriterBase,
  type TopicWriterOptions,
  type UndecodedMessage,
} from "../../src/index.ts";
import type { Delivery, Group, Memory } from "./memory.ts";

function refuseTransaction(tx: unknown): void {
  if (tx) throw new TallymanError("UNSUPPORTED_BY_DRIVER", "Memory can't join a transaction of PostgreSQL.");
}

/** Stores messages for every group. */
export class MemoryWriter<Desc extends DescMessage> extends TopicWriterBase<Desc> {
  readonly #memory: Memory;

  constructor(schema: Desc, { topic, runId }: TopicWriterOptions, memory: Memory) {
    super(schema, topic, runId);
    this.#memory = memory;
  }

  protected override async store(
    { runId, keys, payloads }: EncodedMessages,
    tx: unknown,
  ): Promise<SendOutcome[]> {
    refuseTransaction(tx);
    const topic = this.#memory.topic(this.topic);
    return keys.map((key, index) => {
      const isKnown = topic.messages.some((other) => other.key === key && other.runId === runId);
      if (key !== null && isKnown) return "duplicate";
      const bytes = payloads[index] as Uint8Array;
      topic.add({ position: this.#memory.next(), runId, key, bytes, publishedAt: new Date() });
      return "sent";
    });
  }
}

/** What it promises beyond the common ground. */
export const capabilities: TopicCapabilities = {
  transactionalAck: false,
  fencedAck: true,
  unboundedIdempotency: true,
  retentionSparesUnacknowledged: true,
  redriveKeepsPosition: true,
};
/** How often a waiting poll looks. */
const lookMs = 5;

/** Claims and settles; the version of a claim is the fence. */
export class MemoryReader<Desc extends DescMessage> extends TopicReaderBase<Desc> {
  override readonly capabilities = capabilities;
  readonly #memory: Memory;
  readonly #group: Group;

  constructor(schema: Desc, options: ResolvedReaderOptions, memory: Memory) {
    super(schema, options);
    this.#memory = memory;
    this.#group = memory.group(options.topic, options.group);
  }

  protected override async receive({
    runId,
    max,
    timeoutMs,
    signal,
  }: PollRequest): Promise<UndecodedMessage[]> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      if (this.#group.isDeleted) this.#memory.group(this.topic, this.group);
      const due = this.#due(runId).slice(0, max);
      if (due.length > 0) return due.map((delivery) => this.#claim(delivery));
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) return [];
      await sleep(Math.min(leftMs, lookMs), undefined, { signal }).catch((cause: unknown) => {
        throw new TallymanError("ABORTED", "The poll was aborted.", { cause });
      });
    }
  }

  protected override async acknowledge(messages: readonly TopicMessage<unknown>[], tx: unknown) {
    refuseTransaction(tx);
    return this.#settle(messages, ({ message }) => this.#group.open.delete(message.position));
  }

  protected override async handBack(message: TopicMessage<unknown>, { delayMs }: { delayMs: number }) {
    return this.#settle([message], (delivery) => {
      delivery.state = delayMs > 0 ? "delayed" : "ready";
      delivery.untilMs = performance.now() + delayMs;
    });
  }

  protected override async extendClaims(messages: readonly TopicMessage<unknown>[]) {
    return this.#settle(messages, (delivery) => {
      delivery.untilMs = this.#claimEndMs();
    });
  }

  protected override async moveToDeadLetters(
    message: TopicMessage<unknown>,
    letter: Uint8Array,
    tx: unknown,
  ) {
    refuseTransaction(tx);
    const letters = this.#memory.ensureTopic(
      this.deadLetterTopic,
      DeadLetterMessageSchema.typeName,
      this.topic,
    );
    return this.#settle([message], ({ message: original }) => {
      this.#group.open.delete(original.position);
      const { runId } = original;
      const origin = { group: this.#group, message: original };
      const position = this.#memory.next();
      letters.add({ position, runId, key: null, bytes: letter, publishedAt: new Date(), origin });
    });
  }

  #due(runId: string): Delivery[] {
    if (this.#group.isPaused) return [];
    return [...this.#group.open.values()]
      .filter((delivery) => delivery.message.runId === runId && delivery.isDue())
      .sort((a, b) => a.message.position - b.message.position);
  }

  #claim(delivery: Delivery): UndecodedMessage {
    delivery.state = "claimed";
    delivery.untilMs = this.#claimEndMs();
    delivery.deliveries++;
    delivery.claimVersion = this.#memory.next();
    const { message, deliveries, claimVersion } = delivery;
    const { topic, group } = this;
    const { position, bytes, publishedAt } = message;
    const runId = message.runId === "" ? undefined : message.runId;
    return {
      topic,
      group,
      runId,
      position,
      key: message.key ?? undefined,
      bytes,
      publishedAt,
      deliveries,
      claimVersion,
    };
  }

  #claimEndMs(): number {
    return this.claimTimeoutMs === 0 ? Number.POSITIVE_INFINITY : performance.now() + this.claimTimeoutMs;
  }

  #settle(messages: readonly TopicMessage<unknown>[], change: (delivery: Delivery) => void): Set<number> {
    const held = this.#group.held(messages);
    for (const delivery of held) change(delivery);
    return new Set(held.map(({ message }) => message.position));
  }
}
