import { AckPolicy, type ConsumerInfo, DeliverPolicy, type JetStreamManager } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { persistently } from "./failures.ts";
import type { GroupState } from "./groups.ts";
import { consumerOf, streamOf, subjectOf } from "./names.ts";
import { nextMessage, orMissing } from "./streams.ts";

/** Ten years stand for ever. */
const neverMs = 10 * 365 * 24 * 3_600_000;
/** Messages that a group may hold in one run. */
const ackPendingMax = 100_000;

/** A group in one run. */
export interface ConsumerKey {
  readonly topic: string;
  readonly group: string;
  readonly runId: string;
  readonly state: GroupState;
}

/** Makes the durable consumer, or gives an existing one this claim timeout. */
export async function ensureConsumer(
  manager: JetStreamManager,
  { topic, group, runId, state }: ConsumerKey,
  claimTimeoutMs: number,
): Promise<ConsumerInfo> {
  return persistently(() =>
    manager.consumers.add(streamOf(topic), {
      durable_name: consumerOf(group, state.epoch, runId),
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(claimTimeoutMs === 0 ? neverMs : claimTimeoutMs),
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: state.startSequence,
      filter_subject: subjectOf(topic, runId),
      max_ack_pending: ackPendingMax,
      // How often is too often is the reader's decision: it dead-letters.
      max_deliver: -1,
    }),
  );
}

/** Unacknowledged messages of a group in one run. */
export interface RunLag {
  readonly ready: number;
  readonly claimed: number;
  readonly oldestAt: Date | undefined;
}

/** The lag of a group in one run; a consumer that is missing is made, for only it knows. */
export async function runLag(
  manager: JetStreamManager,
  key: ConsumerKey,
  claimTimeoutMs: number,
): Promise<RunLag> {
  const { topic, group, runId, state } = key;
  const name = consumerOf(group, state.epoch, runId);
  const info =
    (await orMissing(() => manager.consumers.info(streamOf(topic), name))) ??
    (await ensureConsumer(manager, key, claimTimeoutMs));
  const [ready, claimed] = [info.num_pending, info.num_ack_pending];
  if (ready + claimed === 0) return { ready, claimed, oldestAt: undefined };
  const seq = Math.max(info.ack_floor.stream_seq + 1, state.startSequence);
  const oldest = await nextMessage(manager, streamOf(topic), { seq, next_by_subj: subjectOf(topic, runId) });
  return { ready, claimed, oldestAt: oldest?.time };
}
