import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type Database, type Executor, pipelined } from "../database/index.ts";
import { deadLetterType } from "./dead-letter.ts";
import { OpenEnds } from "./open-ends.ts";
import {
  deleteOrphans,
  deliverFrom,
  findGroup,
  forgetBefore,
  insertGroup,
  listGroups,
  orphanedGroups,
  positionAt,
  removeGroup,
  setPaused,
} from "./sql/group.ts";
import { redrive } from "./sql/redrive.ts";
import { sweepStep, topicsWithRetention } from "./sql/retention.ts";
import {
  ensureTopic,
  findDeadLetterTopics,
  findTopic,
  listTopics,
  lockGroupsExclusive,
  lockGroupsShared,
  setRetention,
  type TopicRow,
} from "./sql/topic.ts";
import type {
  GroupInfo,
  RedriveOptions,
  SeekOptions,
  SeekTarget,
  TopicCapabilities,
  TopicInfo,
  TopicReader,
  TopicReaderOptions,
  Topics,
  TopicWriter,
  TopicWriterOptions,
} from "./topic.ts";
import { postgresCapabilities } from "./topic-capabilities.ts";
import { groupNotFound, topicNotFound, typeMismatch } from "./topic-errors.ts";
import { TopicHints } from "./topic-hints.ts";
import { checkMs, redriveLimitDefault, resolveReaderOptions, resolveWriterOptions } from "./topic-options.ts";
import { PostgresTopicReader } from "./topic-postgres-reader.ts";
import { PostgresTopicWriter } from "./topic-postgres-writer.ts";

/** Messages that one step of a sweep looks at, and deliveries that one step deletes. */
const sweepStepMax = 5_000;
const positionMin = 0;

/**
 * Topics in PostgreSQL: one row per message, one per message and group that still has to acknowledge it.
 * Safe to share between all parts of a process; does not own its database.
 *
 * @example
 * ```ts
 * await using topics = new PostgresTopics(tallyman.database);
 * const writer = await topics.writer(BatchInfoSchema, { topic: "batch-topic" });
 * await writer.send(info, { key: info.storageKey });
 * ```
 */
export class PostgresTopics implements Topics {
  readonly capabilities: TopicCapabilities = postgresCapabilities;
  readonly #database: Database;
  readonly #hints: TopicHints;
  readonly #open = new OpenEnds();

  constructor(database: Database) {
    this.#database = database;
    this.#hints = new TopicHints(database);
  }

  async writer<Desc extends DescMessage>(
    schema: Desc,
    given: TopicWriterOptions,
  ): Promise<TopicWriter<MessageShape<Desc>>> {
    const options = resolveWriterOptions(given);
    const topic = await this.#ensureTopic(this.#database, {
      name: options.topic,
      messageType: schema.typeName,
    });
    return this.#open.track(
      new PostgresTopicWriter(schema, topic, options.runId, this.#database, this.#hints),
    );
  }

  async reader<Desc extends DescMessage>(
    schema: Desc,
    given: TopicReaderOptions,
  ): Promise<TopicReader<MessageShape<Desc>>> {
    const options = resolveReaderOptions(given);
    const { topicId } = await this.#ensureTopic(this.#database, {
      name: options.topic,
      messageType: schema.typeName,
    });
    const target = {
      database: this.#database,
      hints: this.#hints,
      topicId,
      groupId: await this.#ensureGroup(topicId, options.group, options.startAt),
      owner: `${hostname()}:${process.pid}:${randomUUID()}`,
      deadLetterTopicId: (executor: Executor) =>
        this.#deadLetterTopicId(executor, options.deadLetterTopic, topicId),
    };
    return this.#open.track(new PostgresTopicReader(schema, options, target));
  }

  listTopics(): Promise<TopicInfo[]> {
    return listTopics(this.#database);
  }

  async listGroups(topic?: string, options: { readonly runId?: string } = {}): Promise<GroupInfo[]> {
    const topicId = topic === undefined ? null : (await this.#find(topic)).topicId;
    return listGroups(this.#database, topicId, options.runId ?? null);
  }

  pauseGroup(topic: string, group: string): Promise<void> {
    return this.#setPaused(topic, group, true);
  }

  async resumeGroup(topic: string, group: string): Promise<void> {
    await this.#setPaused(topic, group, false);
    this.#hints.notify((await this.#find(topic)).topicId);
  }

  async seekGroup(
    topic: string,
    group: string,
    target: SeekTarget,
    options: SeekOptions = {},
  ): Promise<void> {
    const { runId = null } = options;
    const { topicId } = await this.#find(topic);
    await this.#database.transaction(async (tx) => {
      await lockGroupsExclusive(tx, topicId);
      const groupId = await findGroup(tx, topicId, group);
      if (groupId === undefined) throw groupNotFound(topic, group);
      const position = await this.#positionOf(target, (time) => positionAt(tx, topicId, time));
      await forgetBefore(tx, { groupId, position, runId });
      if (position !== null) await deliverFrom(tx, { topicId, groupId, position, runId });
    });
    this.#hints.notify(topicId);
  }

  async deleteGroup(topic: string, group: string): Promise<void> {
    await this.clearGroup(await this.removeGroup(topic, group));
  }

  /**
   * The first half of {@link deleteGroup}, short whatever the group has before it: the group is gone. What it had
   * before it stays for {@link clearGroup}, or for the next sweep.
   *
   * @returns what to clear
   * @throws TallymanError TOPIC_GROUP_NOT_FOUND
   */
  async removeGroup(topic: string, group: string): Promise<number> {
    const { topicId } = await this.#find(topic);
    const [, groupId] = await this.#database.transaction((tx) =>
      pipelined(lockGroupsExclusive(tx, topicId), removeGroup(tx, topicId, group)),
    );
    if (groupId === undefined) throw groupNotFound(topic, group);
    this.#hints.notify(topicId);
    return groupId;
  }

  /** The second half of {@link deleteGroup}, in bounded steps that hold nobody up. */
  async clearGroup(groupId: number): Promise<void> {
    while ((await deleteOrphans(this.#database, groupId, sweepStepMax)) === sweepStepMax);
  }

  async setRetention(topic: string, retentionMs: number | null): Promise<void> {
    if (retentionMs !== null) checkMs("retentionMs", retentionMs, 1);
    if (!(await setRetention(this.#database, topic, retentionMs))) throw topicNotFound(topic);
  }

  async sweepRetention(): Promise<number> {
    for (const groupId of await orphanedGroups(this.#database)) await this.clearGroup(groupId);
    let deleted = 0;
    for (const topicId of await topicsWithRetention(this.#database)) deleted += await this.#sweep(topicId);
    return deleted;
  }

  async redrive(topic: string, options: RedriveOptions = {}): Promise<number> {
    const { group = null, runId = null, limit = redriveLimitDefault } = options;
    checkMs("limit", limit, 1);
    const { topicId } = await this.#find(topic);
    let redriven = 0;
    for (const letters of await findDeadLetterTopics(this.#database, topicId)) {
      const input = { deadLetterTopicId: letters.topicId, group, runId, limit: limit - redriven };
      const [, count] = await this.#database.transaction((tx) =>
        pipelined(lockGroupsShared(tx, topicId), redrive(tx, input)),
      );
      redriven += count;
    }
    this.#hints.notify(topicId);
    return redriven;
  }

  /** Closes every reader and writer that it opened; the database stays open. Safe to call twice. */
  async close(): Promise<void> {
    await this.#open.closeAll();
    await this.#hints.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #ensureTopic(executor: Executor, wanted: Parameters<typeof ensureTopic>[1]): Promise<TopicRow> {
    const { name, messageType } = wanted;
    const topic = await ensureTopic(executor, wanted);
    if (topic.messageType !== messageType) throw typeMismatch(name, topic.messageType, messageType);
    return topic;
  }

  async #deadLetterTopicId(executor: Executor, name: string, sourceId: number): Promise<number> {
    const wanted = { name, messageType: deadLetterType, deadLettersOf: sourceId };
    return (await this.#ensureTopic(executor, wanted)).topicId;
  }

  async #find(name: string): Promise<TopicRow> {
    const topic = await findTopic(this.#database, name);
    if (!topic) throw topicNotFound(name);
    return topic;
  }

  async #ensureGroup(topicId: number, name: string, startAt: "beginning" | "now"): Promise<number> {
    const existing = await findGroup(this.#database, topicId, name);
    if (existing !== undefined) return existing;
    return this.#database.transaction(async (tx) => {
      await lockGroupsExclusive(tx, topicId);
      const groupId = await insertGroup(tx, topicId, name);
      if (groupId === undefined) return (await findGroup(tx, topicId, name)) as number;
      if (startAt === "beginning")
        await deliverFrom(tx, { topicId, groupId, position: positionMin, runId: null });
      return groupId;
    });
  }

  async #setPaused(topic: string, group: string, isPaused: boolean): Promise<void> {
    const { topicId } = await this.#find(topic);
    const wasFound = await setPaused(this.#database, topicId, group, isPaused);
    if (!wasFound) throw groupNotFound(topic, group);
  }

  /** Null: behind the last message. */
  async #positionOf(
    target: SeekTarget,
    positionAtTime: (time: Date) => Promise<number | null>,
  ): Promise<number | null> {
    if (target === "beginning") return positionMin;
    if (target === "end") return null;
    return "position" in target ? target.position : positionAtTime(target.time);
  }

  async #sweep(topicId: number): Promise<number> {
    let deleted = 0;
    for (let after: number | null = -1; after !== null; ) {
      const input: { topicId: number; after: number; limit: number } = {
        topicId,
        after,
        limit: sweepStepMax,
      };
      const [, step] = await this.#database.transaction((tx) =>
        pipelined(lockGroupsShared(tx, topicId), sweepStep(tx, input)),
      );
      deleted += step.deleted;
      after = step.next;
    }
    return deleted;
  }
}
