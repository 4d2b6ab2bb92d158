import type { DescMessage } from "@bufbuild/protobuf";
import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import { errors, headers, type Msg, type NatsConnection, nanos } from "@nats-io/transport-node";
import { isTallymanError } from "../errors/index.ts";
import { crashPoint, linkedAbort, sleep, systemClock, throwIfAborted, WakeUp } from "../runtime/index.ts";
import { ensureConsumer } from "./nats/consumers.ts";
import { isPassing, natsError, passingMsMax, persistently } from "./nats/failures.ts";
import { decodeState, type GroupState, type NatsGroups } from "./nats/groups.ts";
import {
  consumerOf,
  groupSubject,
  keyHeader,
  onlyGroupHeader,
  originGroupHeader,
  runOf,
  streamOf,
  subjectOf,
} from "./nats/names.ts";
import { deliveryOf, type Pulled, pull } from "./nats/pull.ts";
import type { UndecodedMessage } from "./received-message.ts";
import type { InTransaction, TopicMessage } from "./topic.ts";
import { natsCapabilities } from "./topic-capabilities.ts";
import { groupNotFound, unsupported } from "./topic-errors.ts";
import type { ResolvedReaderOptions } from "./topic-options.ts";
import { type PollRequest, TopicReaderBase } from "./topic-reader-base.ts";

/** A waiting poll asks anew after this long; an aborted one keeps its request no longer. */
const sliceMs = 1_000;
/** The shortest pull: what "only looks" takes when there is nothing. */
const glanceMs = 50;
/** How long the rest of a batch may take when others took part of it. */
const restMs = 200;
const retryMs = 100;
const ackTimeoutMs = 5_000;
/** We give a claim up a little before the server does. */
const claimMargin = 0.1;
const claimMarginMsMax = 1_000;

const acknowledged = "+ACK";
const inProgress = "+WPI";
const handedBack = "-NAK";

/** What a reader works with. */
export interface NatsReaderTarget {
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly groups: NatsGroups;
  readonly state: GroupState;
  /** Finds or makes the dead-letter topic. */
  ensureDeadLetterTopic(): Promise<void>;
}

interface Held {
  readonly message: Msg;
  readonly epoch: number;
  deadlineMs: number;
}

/**
 * Pulls from the durable consumer of its group and run. JetStream takes the ack of any former holder, so
 * the reader itself refuses what it has held too long by its own clock: good manners, not a fence.
 */
export class NatsTopicReader<Desc extends DescMessage> extends TopicReaderBase<Desc> {
  override readonly capabilities = natsCapabilities;
  readonly #target: NatsReaderTarget;
  readonly #held = new Map<string, Held>();
  readonly #wakeUp = new WakeUp();
  readonly #leaving = new Set<Promise<unknown>>();
  readonly #updates: { unsubscribe(): void };
  #state: GroupState;
  #stateAtMs = systemClock.monotonicMs();
  /** `epoch:run` of the consumer that is known to exist. */
  #ensured = "";
  /** What was left behind the last message of the last poll. */
  #pending = 0;

  constructor(schema: Desc, options: ResolvedReaderOptions, target: NatsReaderTarget) {
    super(schema, options);
    this.#target = target;
    this.#state = target.state;
    this.#updates = target.connection.subscribe(groupSubject(this.topic, this.group), {
      callback: (_error, message) => this.#update(decodeState(message.data)),
    });
  }

  override async close(): Promise<void> {
    await super.close();
    this.#updates.unsubscribe();
    await Promise.allSettled(this.#leaving);
  }

  protected override async receive({
    runId,
    max,
    timeoutMs,
    signal,
  }: PollRequest): Promise<UndecodedMessage[]> {
    const deadlineMs = systemClock.monotonicMs() + timeoutMs;
    for (;;) {
      throwIfAborted(signal);
      await this.#refresh();
      const leftMs = Math.max(deadlineMs - systemClock.monotonicMs(), 0);
      const received = this.#state.isPaused
        ? await this.#waitWhilePaused(Math.min(leftMs, sliceMs), signal)
        : await this.#pullSome(runId, max, Math.min(leftMs, sliceMs), signal);
      if (received.length > 0) return received;
      if (systemClock.monotonicMs() >= deadlineMs) return [];
    }
  }

  protected override async acknowledge(
    messages: readonly TopicMessage<unknown>[],
    tx: InTransaction["tx"],
  ): Promise<Set<number>> {
    if (tx) throw unsupported("NATS can't acknowledge in a transaction of PostgreSQL: ack after the commit.");
    crashPoint("topics.before-ack");
    return this.#settle(messages, acknowledged, (key) => this.#held.delete(key));
  }

  protected override handBack(
    message: TopicMessage<unknown>,
    { delayMs }: { delayMs: number },
  ): Promise<Set<number>> {
    const body = delayMs > 0 ? `${handedBack} ${JSON.stringify({ delay: nanos(delayMs) })}` : handedBack;
    return this.#settle([message], body, (key) => this.#held.delete(key));
  }

  protected override extendClaims(messages: readonly TopicMessage<unknown>[]): Promise<Set<number>> {
    const deadlineMs = this.#claimDeadline();
    return this.#settle(messages, inProgress, (_key, held) => {
      held.deadlineMs = deadlineMs;
    });
  }

  /** First the letter, then the ack: a crash in between leaves both, and the letter's id keeps it single. */
  protected override async moveToDeadLetters(
    message: TopicMessage<unknown>,
    letter: Uint8Array,
    tx: InTransaction["tx"],
  ): Promise<Set<number>> {
    if (tx) throw unsupported("NATS can't dead-letter in a transaction of PostgreSQL.");
    const held = this.#find(message);
    if (!held) return new Set();
    const { deadLetterTopic } = this.options;
    await this.#target.ensureDeadLetterTopic();
    const origin = headers();
    origin.set(originGroupHeader, this.group);
    // Several topics may share one for their letters, and a seek back delivers anew.
    const msgID = `${this.topic}:${this.group}:${held.epoch}:${message.position}`;
    await persistently(() =>
      this.#target.client.publish(subjectOf(deadLetterTopic, message.runId ?? ""), letter, {
        msgID,
        headers: origin,
      }),
    );
    return this.acknowledge([message], undefined);
  }

  async #pullSome(
    runId: string,
    max: number,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<UndecodedMessage[]> {
    const { epoch } = this.#state;
    if (!(await this.#ensureConsumer(runId))) return this.#pauseBeforeRetry(waitMs, signal);
    const backlog = Math.min(max, this.#pending);
    const first =
      backlog > 1
        ? await this.#pull(runId, backlog, restMs, signal)
        : await this.#pull(runId, 1, Math.max(waitMs, glanceMs), signal);
    const messages = [...first.messages];
    const left = this.#leftBehind(messages.at(-1));
    if (messages.length > 0 && backlog <= 1 && max > 1 && left > 0) {
      const rest = await this.#pull(runId, Math.min(max - 1, left), restMs, undefined);
      messages.push(...rest.messages);
    }
    this.#pending = this.#leftBehind(messages.at(-1));
    if (first.end === "no-consumer") await this.#consumerLost(waitMs);
    return this.#hold(messages, epoch);
  }

  /** An aborted poll leaves; what still arrives for it goes back at once. */
  async #pull(
    runId: string,
    batch: number,
    expiresMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Pulled> {
    const { connection } = this.#target;
    const consumer = consumerOf(this.group, this.#state.epoch, runId);
    const pulling = this.metrics.claim.run(`Topic: ${this.topic}, group: ${this.group}`, () =>
      pull(connection, { stream: streamOf(this.topic), consumer, batch, expiresMs }).catch(
        (error: unknown) => {
          throw natsError(error);
        },
      ),
    );
    if (!signal) return pulling;
    using leave = linkedAbort(signal);
    const aborted = new Promise<"aborted">((resolve) =>
      leave.signal.addEventListener("abort", () => resolve("aborted"), { once: true }),
    );
    const outcome = await Promise.race([pulling, aborted]);
    if (outcome !== "aborted") return outcome;
    const leaving = pulling.then(({ messages }) => {
      for (const message of messages) message.respond(handedBack);
    });
    this.#leaving.add(leaving);
    void leaving.finally(() => this.#leaving.delete(leaving)).catch(() => undefined);
    throwIfAborted(signal);
    return { messages: [], end: "done" };
  }

  #hold(messages: readonly Msg[], epoch: number): UndecodedMessage[] {
    this.#forgetLost();
    const deadlineMs = this.#claimDeadline();
    return messages.flatMap((message) => {
      const only = message.headers?.get(onlyGroupHeader);
      if (only && only !== this.group) {
        message.respond(acknowledged);
        return [];
      }
      const received = this.#received(message);
      this.#held.set(keyOf(received), { message, epoch, deadlineMs });
      return [received];
    });
  }

  /** What was never settled and has run out, oldest first, must not pile up. */
  #forgetLost(): void {
    const nowMs = systemClock.monotonicMs();
    for (const [key, { deadlineMs }] of this.#held) {
      if (nowMs < deadlineMs) return;
      this.#held.delete(key);
    }
  }

  #received(message: Msg): UndecodedMessage {
    const { deliveries, streamSequence, publishedAt } = deliveryOf(message);
    const runId = runOf(message.subject);
    const key = message.headers?.get(keyHeader);
    return {
      topic: this.topic,
      group: this.group,
      runId: runId === "" ? undefined : runId,
      position: streamSequence,
      key: key ? decodeURIComponent(key) : undefined,
      bytes: message.data,
      publishedAt,
      deliveries,
      claimVersion: deliveries,
    };
  }

  /** Sends a settlement for each message still held and waits for the server's word. */
  async #settle(
    messages: readonly TopicMessage<unknown>[],
    body: string,
    then: (key: string, held: Held) => void,
  ): Promise<Set<number>> {
    const settled = new Set<number>();
    const settleOne = async (message: TopicMessage<unknown>) => {
      const held = this.#find(message);
      if (!held || !(await this.#confirm(held, body))) return;
      then(keyOf(message), held);
      settled.add(message.position);
    };
    await Promise.all(messages.map(settleOne));
    return settled;
  }

  /** False when the consumer is gone, and with it the claim. */
  async #confirm({ message, epoch, deadlineMs }: Held, body: string): Promise<boolean> {
    const giveUpMs = Math.min(deadlineMs, systemClock.monotonicMs() + passingMsMax);
    for (;;) {
      try {
        await this.#target.connection.request(message.reply ?? "", body, { timeout: ackTimeoutMs });
        return true;
      } catch (error) {
        await this.#refresh(true).catch(() => undefined);
        if (this.#state.epoch !== epoch || this.#state.isDeleted) return false;
        const isLate = systemClock.monotonicMs() >= giveUpMs;
        if (!isPassing(error) || isLate) throw natsError(error);
        await sleep(retryMs);
      }
    }
  }

  /** The claim as far as we know; nothing when it is over. */
  #find(message: TopicMessage<unknown>): Held | undefined {
    const held = this.#held.get(keyOf(message));
    if (!held) return undefined;
    if (held.epoch === this.#state.epoch && systemClock.monotonicMs() < held.deadlineMs) return held;
    this.#held.delete(keyOf(message));
    return undefined;
  }

  #claimDeadline(): number {
    const { claimTimeoutMs } = this.options;
    if (claimTimeoutMs === 0) return Number.POSITIVE_INFINITY;
    const marginMs = Math.min(claimTimeoutMs * claimMargin, claimMarginMsMax);
    return systemClock.monotonicMs() + claimTimeoutMs - marginMs;
  }

  #leftBehind(last: Msg | undefined): number {
    return last ? deliveryOf(last).pending : 0;
  }

  /** False while nobody leads the stream. */
  async #ensureConsumer(runId: string): Promise<boolean> {
    const wanted = `${this.#state.epoch}:${runId}`;
    if (this.#ensured === wanted) return true;
    const key = { topic: this.topic, group: this.group, runId, state: this.#state };
    try {
      await ensureConsumer(this.#target.manager, key, this.options.claimTimeoutMs);
    } catch (error) {
      if (!isPassing(error)) throw error;
      return false;
    }
    this.#ensured = wanted;
    this.#pending = 0;
    return true;
  }

  async #consumerLost(waitMs: number): Promise<void> {
    this.#ensured = "";
    await this.#refresh(true);
    await sleep(Math.min(retryMs, waitMs));
  }

  async #pauseBeforeRetry(waitMs: number, signal: AbortSignal | undefined): Promise<UndecodedMessage[]> {
    await sleep(Math.min(retryMs, waitMs), signal);
    return [];
  }

  async #waitWhilePaused(waitMs: number, signal: AbortSignal | undefined): Promise<UndecodedMessage[]> {
    await this.#wakeUp.wait(waitMs, signal);
    return [];
  }

  /** Updates come by themselves; one that was missed while reconnecting is found here. */
  async #refresh(isUrgent = false): Promise<void> {
    const ageMs = systemClock.monotonicMs() - this.#stateAtMs;
    if (isUrgent || ageMs > this.options.pollIntervalMs) {
      const found = await this.#target.groups.find(this.topic, this.group).catch((error: unknown) => {
        if (isTallymanError(error) && error.cause instanceof errors.TimeoutError) return this.#state;
        throw error;
      });
      this.#update(found ?? { ...this.#state, isDeleted: true });
    }
    if (this.#state.isDeleted) throw groupNotFound(this.topic, this.group);
  }

  #update(state: GroupState): void {
    this.#stateAtMs = systemClock.monotonicMs();
    if (state.epoch < this.#state.epoch) return;
    this.#state = state;
    this.#wakeUp.notify();
  }
}

function keyOf({ position, claimVersion }: Pick<TopicMessage<unknown>, "position" | "claimVersion">): string {
  return `${position}:${claimVersion}`;
}
