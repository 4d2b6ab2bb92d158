import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  type BatchInfo,
  BatchInfoSchema,
  type Outgoing,
  type SendOutcome,
  type TopicSendOptions,
  type TopicWriter,
} from "../../src/index.ts";
import { outsideTicks } from "./outside-ticks.ts";

const rememberedMax = 12;
const heldMs = 2_500;

/** A topic whose announcements get lost, come twice, in another order, or from somebody who means harm. */
export class FaultyTopic implements TopicWriter<BatchInfo> {
  readonly #topic: TopicWriter<BatchInfo>;
  readonly #sent: BatchInfo[] = [];
  /** Keys of files that nobody shall hear of. */
  readonly silenced = new Set<string>();
  /** Keys of files that are announced late. */
  readonly held = new Set<string>();
  /** Keys of copies that are announced too, by the key of the original. */
  readonly copies = new Map<string, string>();
  readonly topic: string;

  constructor(topic: TopicWriter<BatchInfo>) {
    this.#topic = topic;
    this.topic = topic.topic;
  }

  setSimulationRun(runId: string): void {
    this.#topic.setSimulationRun(runId);
  }

  async send(message: BatchInfo, options?: TopicSendOptions): Promise<SendOutcome> {
    const { storageKey } = message;
    if (this.silenced.delete(storageKey)) return "sent";
    if (this.held.delete(storageKey)) return this.#sendLate(message, options);
    const copy = this.copies.get(storageKey);
    if (copy !== undefined) await this.#topic.send({ ...message, storageKey: copy });
    this.#sent.push(message);
    if (this.#sent.length > rememberedMax) this.#sent.shift();
    return this.#topic.send(message, options);
  }

  /** One that is not sent at all, because the process or the topic is gone by then, is lost. */
  #sendLate(message: BatchInfo, options?: TopicSendOptions): "sent" {
    sleep(heldMs)
      .then(() => this.#topic.send(message, options))
      .catch(() => undefined);
    return "sent";
  }

  sendMany(messages: readonly Outgoing<BatchInfo>[]): Promise<SendOutcome[]> {
    return this.#topic.sendMany(messages);
  }

  getMetrics() {
    return this.#topic.getMetrics();
  }

  isHealthy() {
    return this.#topic.isHealthy();
  }

  getErrors() {
    return this.#topic.getErrors();
  }

  clearErrors() {
    this.#topic.clearErrors();
  }

  close(): Promise<void> {
    return this.#topic.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Announces the last files again, without a key by which the topic would know them, the newest first. */
  async repeat(random: number): Promise<void> {
    const again = this.#sent.slice(-1 - Math.floor(random * rememberedMax)).toReversed();
    for (const message of again) await this.#topic.send(message);
  }

  /** Announces files that are none: outside of the storage, of other ticks than their name says, of nonsense. */
  async sendHostile(runId: string): Promise<void> {
    const name = (first: number, last: number) =>
      `batch_${String(first).padStart(19, "0")}_${String(last).padStart(19, "0")}.pb`;
    const { first, last } = outsideTicks;
    const keys = [
      `${runId}/raw/../../../outside/${runId}/raw/00000000090/000/${name(first, last)}`,
      `../outside/${runId}/raw/00000000090/000/${name(first, last)}`,
      `${runId}/raw/${name(first, last + 1)}`,
      "/etc/passwd",
      `${runId}/raw/${name(first, last)};DROP TABLE chaos.seen`,
    ];
    this.#topic.setSimulationRun(runId);
    for (const storageKey of keys) await this.#topic.send(announcementOf(runId, storageKey));
  }
}

function announcementOf(simulationRunId: string, storageKey: string): BatchInfo {
  const { first, last } = outsideTicks;
  return create(BatchInfoSchema, {
    simulationRunId,
    storageKey,
    tickStart: BigInt(first),
    tickEnd: BigInt(last),
  });
}
