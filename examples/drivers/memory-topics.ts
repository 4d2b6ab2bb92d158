import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import {
  type GroupInfo,
  type RedriveOptions,
  resolveReaderOptions,
  resolveWriterOptions,
  type SeekTarget,
  type TopicInfo,
  type TopicReader,
  type TopicReaderOptions,
  type Topics,
  type TopicWriter,
  type TopicWriterOptions,
} from "../../src/index.ts";
import { Delivery, Group, Memory, type Stored } from "./memory.ts";
import { capabilities, MemoryReader, MemoryWriter } from "./memory-ends.ts";

/** Topics in the memory of one process: for tests, and to show what a driver is made of. */
export class MemoryTopics implements Topics {
  readonly capabilities = capabilities;
  readonly #memory: Memory;
  readonly #ends: { close(): Promise<void> }[] = [];

  constructor(memory = new Memory()) {
    this.#memory = memory;
  }

  async writer<Desc extends DescMessage>(
    schema: Desc,
    given: TopicWriterOptions,
  ): Promise<TopicWriter<MessageShape<Desc>>> {
    const options = resolveWriterOptions(given);
    this.#memory.ensureTopic(options.topic, schema.typeName);
    const writer = new MemoryWriter(schema, options, this.#memory);
    this.#ends.push(writer);
    return writer;
  }

  async reader<Desc extends DescMessage>(
    schema: Desc,
    given: TopicReaderOptions,
  ): Promise<TopicReader<MessageShape<Desc>>> {
    const options = resolveReaderOptions(given);
    const topic = this.#memory.ensureTopic(options.topic, schema.typeName);
    if (!topic.groups.has(options.group)) {
      topic.groups.set(options.group, new Group());
      if (options.startAt === "beginning") await this.seekGroup(options.topic, options.group, "beginning");
    }
    const reader = new MemoryReader(schema, options, this.#memory);
    this.#ends.push(reader);
    return reader;
  }

  async listTopics(): Promise<TopicInfo[]> {
    return [...this.#memory.topics.values()].map(({ messages, groups, ...topic }) => ({
      ...topic,
      messages: messages.length,
      groups: groups.size,
    }));
  }

  async listGroups(topic?: string, { runId }: { readonly runId?: string } = {}): Promise<GroupInfo[]> {
    const topics = topic === undefined ? [...this.#memory.topics.values()] : [this.#memory.topic(topic)];
    return topics.flatMap(({ name, groups }) =>
      [...groups].map(([group, { isPaused, createdAt, open }]) => {
        const all = [...open.values()].filter(
          ({ message }) => runId === undefined || message.runId === runId,
        );
        const count = (state: Delivery["state"]) => all.filter((each) => each.state === state).length;
        const oldestMs = Math.min(...all.map(({ message }) => message.publishedAt.getTime()));
        return {
          topic: name,
          group,
          isPaused,
          createdAt,
          messages: all.length,
          ready: count("ready"),
          claimed: count("claimed"),
          delayed: count("delayed"),
          oldestAgeMs: all.length === 0 ? null : Date.now() - oldestMs,
        };
      }),
    );
  }

  async pauseGroup(topic: string, group: string): Promise<void> {
    this.#memory.group(topic, group).isPaused = true;
  }

  async resumeGroup(topic: string, group: string): Promise<void> {
    this.#memory.group(topic, group).isPaused = false;
  }

  async seekGroup(topic: string, group: string, target: SeekTarget): Promise<void> {
    const { open } = this.#memory.group(topic, group);
    open.clear();
    for (const message of this.#memory.topic(topic).messages)
      if (isFrom(message, target)) open.set(message.position, new Delivery(message));
  }

  async deleteGroup(topic: string, group: string): Promise<void> {
    this.#memory.group(topic, group).isDeleted = true;
    this.#memory.topic(topic).groups.delete(group);
  }

  async setRetention(topic: string, retentionMs: number | null): Promise<void> {
    this.#memory.topic(topic).retentionMs = retentionMs;
  }

  async sweepRetention(): Promise<number> {
    let swept = 0;
    for (const { messages, groups, retentionMs } of this.#memory.topics.values()) {
      const isOpen = ({ position }: Stored) => [...groups.values()].some(({ open }) => open.has(position));
      const isYoung = ({ publishedAt }: Stored) =>
        retentionMs === null || Date.now() - publishedAt.getTime() < retentionMs;
      const kept = messages.filter((message) => isYoung(message) || isOpen(message));
      swept += messages.splice(0, messages.length, ...kept).length - kept.length;
    }
    return swept;
  }

  async redrive(topic: string, { group, runId, limit = 10_000 }: RedriveOptions = {}): Promise<number> {
    const from = this.#memory.topic(topic);
    const letters = [...this.#memory.topics.values()].filter(({ deadLettersOf }) => deadLettersOf === topic);
    let redriven = 0;
    for (const { messages, groups } of letters) {
      for (const { position, origin, ...letter } of [...messages]) {
        if (!origin || redriven === limit || (runId !== undefined && letter.runId !== runId)) continue;
        if (group !== undefined && from.groups.get(group) !== origin.group) continue;
        origin.group.open.set(origin.message.position, new Delivery(origin.message));
        messages.splice(
          messages.findIndex((each) => each.position === position),
          1,
        );
        for (const { open } of groups.values()) open.delete(position);
        redriven++;
      }
    }
    return redriven;
  }

  async close(): Promise<void> {
    await Promise.all(this.#ends.splice(0).map((end) => end.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function isFrom({ position, publishedAt }: Stored, target: SeekTarget): boolean {
  if (target === "beginning" || target === "end") return target === "beginning";
  return "position" in target ? position >= target.position : publishedAt >= target.time;
}
