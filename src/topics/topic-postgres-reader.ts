import type { DescMessage } from "@bufbuild/protobuf";
import { type Database, type Executor, pipelined, type Transaction } from "../database/index.ts";
import { crashPoint, systemClock, WakeUp } from "../runtime/index.ts";
import type { UndecodedMessage } from "./received-message.ts";
import { type ClaimedRow, claim } from "./sql/claim.ts";
import { acknowledge, extendClaims, type HeldMessages, handBack, moveToDeadLetters } from "./sql/settle.ts";
import { lockGroupsShared } from "./sql/topic.ts";
import type { InTransaction, TopicMessage } from "./topic.ts";
import { postgresCapabilities } from "./topic-capabilities.ts";
import { groupNotFound } from "./topic-errors.ts";
import type { TopicHints } from "./topic-hints.ts";
import type { ResolvedReaderOptions } from "./topic-options.ts";
import { type PollRequest, TopicReaderBase } from "./topic-reader-base.ts";

/** A message that is due but locked by another claim is looked at again no sooner than this. */
const dueWaitMsMin = 20;

/** What a reader works on. */
export interface ReaderTarget {
  readonly database: Database;
  readonly hints: TopicHints;
  readonly topicId: number;
  readonly groupId: number;
  /** Shown beside the messages that it holds. */
  readonly owner: string;
  /** Finds or makes the dead-letter topic. */
  deadLetterTopicId(executor: Executor): Promise<number>;
}

/** Claims rows in bulk; holds no connection while it waits. */
export class PostgresTopicReader<Desc extends DescMessage> extends TopicReaderBase<Desc> {
  override readonly capabilities = postgresCapabilities;
  readonly #target: ReaderTarget;
  readonly #wakeUp = new WakeUp();
  #unsubscribe: (() => void) | undefined;

  constructor(schema: Desc, options: ResolvedReaderOptions, target: ReaderTarget) {
    super(schema, options, target.database.metricsWindowSeconds);
    this.#target = target;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  protected override async receive({
    runId,
    max,
    timeoutMs,
    signal,
  }: PollRequest): Promise<UndecodedMessage[]> {
    const deadlineMs = systemClock.monotonicMs() + timeoutMs;
    while (this.isHealthy()) {
      const found = await this.#claim(runId, max);
      if (found.kind === "group-gone") throw groupNotFound(this.topic, this.group);
      if (found.kind === "claimed") return found.rows.map((row) => this.#received(row, runId));
      const leftMs = deadlineMs - systemClock.monotonicMs();
      // Closed meanwhile: nobody would end the subscription.
      if (leftMs <= 0 || !this.isHealthy()) break;
      this.#unsubscribe ??= this.#target.hints.subscribe(this.#target.topicId, () => this.#wakeUp.notify());
      const dueMs = Math.max(found.nextDueMs ?? Number.POSITIVE_INFINITY, dueWaitMsMin);
      await this.#wakeUp.wait(Math.min(leftMs, dueMs, this.options.pollIntervalMs), signal);
    }
    return [];
  }

  protected override acknowledge(
    messages: readonly TopicMessage<unknown>[],
    tx: InTransaction["tx"],
  ): Promise<Set<number>> {
    crashPoint("topics.before-ack");
    const { database } = this.#target;
    return acknowledge(tx ? database.join(tx) : database, this.#held(messages));
  }

  protected override async handBack(
    message: TopicMessage<unknown>,
    options: { delayMs: number; error: string | undefined },
  ): Promise<Set<number>> {
    const { database, hints, topicId } = this.#target;
    const settled = await handBack(database, this.#held([message]), options);
    if (settled.size > 0 && options.delayMs === 0) hints.notify(topicId);
    return settled;
  }

  protected override extendClaims(messages: readonly TopicMessage<unknown>[]): Promise<Set<number>> {
    return extendClaims(this.#target.database, this.#held(messages), this.options.claimTimeoutMs);
  }

  protected override async moveToDeadLetters(
    message: TopicMessage<unknown>,
    payload: Uint8Array,
    tx: InTransaction["tx"],
  ): Promise<Set<number>> {
    const { database, hints } = this.#target;
    const move = async (within: Transaction) => {
      // In the same transaction: another connection would wait for what this one holds, or for this one itself.
      const topicId = await this.#target.deadLetterTopicId(within);
      const letter = { topicId, runId: message.runId ?? "", payload };
      const [, settled] = await pipelined(
        lockGroupsShared(within, topicId),
        moveToDeadLetters(within, this.#held([message]), letter),
        hints.notifyWith(within, topicId),
      );
      return settled;
    };
    return tx ? move(database.join(tx)) : database.transaction(move);
  }

  #claim(runId: string, max: number) {
    const { database, topicId, groupId, owner } = this.#target;
    const { claimTimeoutMs } = this.options;
    return this.metrics.claim.run(`Topic: ${this.topic}, group: ${this.group}`, () =>
      claim(database, { topicId, groupId, runId, max, claimTimeoutMs, owner }),
    );
  }

  #received(row: ClaimedRow, runId: string): UndecodedMessage {
    return {
      topic: this.topic,
      group: this.group,
      runId: runId === "" ? undefined : runId,
      position: row.messageId,
      key: row.key ?? undefined,
      bytes: row.payload,
      publishedAt: row.publishedAt,
      deliveries: row.deliveries,
      claimVersion: row.claimVersion,
    };
  }

  #held(messages: readonly TopicMessage<unknown>[]): HeldMessages {
    return {
      groupId: this.#target.groupId,
      messageIds: messages.map(({ position }) => position),
      claimVersions: messages.map(({ claimVersion }) => claimVersion),
    };
  }
}
