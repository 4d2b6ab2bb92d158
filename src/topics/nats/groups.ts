import type { JetStreamClient, JetStreamManager } from "@nats-io/jetstream";
import { isWrongSequence, persistently } from "./failures.ts";
import { consumerPrefix, groupOf, groupStream, groupSubject, streamOf } from "./names.ts";
import { orMissing, subjectCounts } from "./streams.ts";

/** What the readers of a group go by. */
export interface GroupState {
  /** Raised by every seek and deletion; consumers are named after it, so an old one is never taken up. */
  readonly epoch: number;
  /** Where the consumers of this epoch start. */
  readonly startSequence: number;
  readonly isPaused: boolean;
  readonly isDeleted: boolean;
  readonly createdAtMs: number;
}

interface StoredState {
  readonly state: GroupState;
  readonly sequence: number;
}

/** Decodes a state; also used for updates as they are published. */
export function decodeState(data: Uint8Array): GroupState {
  return JSON.parse(Buffer.from(data).toString()) as GroupState;
}

/** The states of all groups, each the last message of its subject, changed by compare and set. */
export class NatsGroups {
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;

  constructor(client: JetStreamClient, manager: JetStreamManager) {
    this.#client = client;
    this.#manager = manager;
  }

  /** The group's state; undefined when there is none, or it was deleted. */
  async find(topic: string, group: string): Promise<GroupState | undefined> {
    const stored = await this.#read(topic, group);
    return stored?.state.isDeleted ? undefined : stored?.state;
  }

  /** The group's state, made when it is missing. */
  async ensure(topic: string, group: string, startSequence: () => Promise<number>): Promise<GroupState> {
    for (;;) {
      const stored = await this.#read(topic, group);
      if (stored && !stored.state.isDeleted) return stored.state;
      const state: GroupState = {
        epoch: (stored?.state.epoch ?? 0) + 1,
        startSequence: await startSequence(),
        isPaused: false,
        isDeleted: false,
        createdAtMs: Date.now(),
      };
      if (await this.#write(topic, group, state, stored?.sequence ?? 0)) return state;
    }
  }

  /** Changes a group; undefined when there is none. Returns the state before. */
  async change(
    topic: string,
    group: string,
    change: (state: GroupState) => GroupState,
  ): Promise<GroupState | undefined> {
    for (;;) {
      const stored = await this.#read(topic, group);
      if (!stored || stored.state.isDeleted) return undefined;
      if (await this.#write(topic, group, change(stored.state), stored.sequence)) return stored.state;
    }
  }

  /** The groups of a topic by name. */
  async list(topic: string): Promise<[group: string, state: GroupState][]> {
    const subjects = await subjectCounts(this.#manager, groupStream, groupSubject(topic, "*"));
    const groups = Object.keys(subjects).map(groupOf).toSorted();
    const states = await Promise.all(groups.map((group) => this.find(topic, group)));
    return groups.flatMap((group, i) => (states[i] ? [[group, states[i]]] : []));
  }

  /** Deletes the consumers of an epoch that is over. */
  async deleteConsumers(topic: string, group: string, epoch: number): Promise<void> {
    const stream = streamOf(topic);
    const ours = consumerPrefix(group, epoch);
    for await (const { name } of this.#manager.consumers.list(stream)) {
      if (name.startsWith(ours)) await orMissing(() => this.#manager.consumers.delete(stream, name));
    }
  }

  async #read(topic: string, group: string): Promise<StoredState | undefined> {
    const query = { last_by_subj: groupSubject(topic, group) };
    const message = await orMissing(() => this.#manager.streams.getMessage(groupStream, query));
    return message && { state: decodeState(message.data), sequence: message.seq };
  }

  /** False when somebody else changed it meanwhile. */
  async #write(topic: string, group: string, state: GroupState, after: number): Promise<boolean> {
    try {
      await persistently(() =>
        this.#client.publish(groupSubject(topic, group), JSON.stringify(state), {
          expect: { lastSubjectSequence: after },
        }),
      );
      return true;
    } catch (error) {
      // Also when our own write was repeated after a lost answer: the next read shows it.
      if (isWrongSequence(error)) return false;
      throw error;
    }
  }
}
