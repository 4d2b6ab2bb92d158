import {
  DiscardPolicy,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StoredMsg,
  type StreamInfo,
} from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { isMissing, persistently } from "./failures.ts";
import { groupStream, groupStreamSubject, streamOf, subjectsOf } from "./names.ts";

/** What is kept about a topic beside its messages: in the stream's description, for want of metadata. */
export interface TopicDescription {
  readonly messageType: string;
  readonly deadLettersOf?: string;
}

/** How streams are made. */
export interface StreamSettings {
  readonly replicas: number;
  readonly duplicateWindowMs: number;
}

/** Finds or makes the stream of a topic. */
export async function ensureTopicStream(
  manager: JetStreamManager,
  topic: string,
  description: TopicDescription,
  settings: StreamSettings,
): Promise<TopicDescription> {
  const found = await findTopicStream(manager, topic);
  if (found) return describe(found);
  await persistently(() =>
    manager.streams.add({
      name: streamOf(topic),
      subjects: [subjectsOf(topic)],
      description: JSON.stringify(description),
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.New,
      storage: StorageType.File,
      num_replicas: settings.replicas,
      duplicate_window: nanos(settings.duplicateWindowMs),
    }),
  ).catch(async (error: unknown) => {
    // Another process may have made it meanwhile, for another type even: what is there counts.
    if (!(await findTopicStream(manager, topic))) throw error;
  });
  return describe((await findTopicStream(manager, topic)) as StreamInfo);
}

export async function findTopicStream(
  manager: JetStreamManager,
  topic: string,
): Promise<StreamInfo | undefined> {
  return orMissing(() => manager.streams.info(streamOf(topic)));
}

export function describe(stream: StreamInfo): TopicDescription {
  return JSON.parse(stream.config.description ?? "{}") as TopicDescription;
}

/** Finds or makes the stream of the groups' states. */
export async function ensureGroupStream(manager: JetStreamManager, replicas: number): Promise<void> {
  if (await orMissing(() => manager.streams.info(groupStream))) return;
  await persistently(() =>
    manager.streams.add({
      name: groupStream,
      subjects: [groupStreamSubject],
      max_msgs_per_subject: 1,
      storage: StorageType.File,
      num_replicas: replicas,
    }),
  );
}

/** Messages kept by subject. */
export async function subjectCounts(
  manager: JetStreamManager,
  stream: string,
  filter: string,
): Promise<Record<string, number>> {
  const info = await persistently(() => manager.streams.info(stream, { subjects_filter: filter }));
  return info.state.subjects ?? {};
}

/** The first message of a subject (wildcards allowed) at or behind a sequence. */
export async function nextMessage(
  manager: JetStreamManager,
  stream: string,
  query: { seq: number; next_by_subj: string },
): Promise<StoredMsg | undefined> {
  return orMissing(() => manager.streams.getMessage(stream, query));
}

/** The result, or undefined for what is not there. */
export async function orMissing<T>(operation: () => Promise<T | null>): Promise<T | undefined> {
  try {
    return (await persistently(operation)) ?? undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
