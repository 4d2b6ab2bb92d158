/**
 * Topics: messages that several consumer groups read, each at its own pace.
 *
 * Model. A topic is a log of protobuf messages of one type, split by simulation run. A consumer group
 * gets every message once acknowledged; its members compete for them. In PostgreSQL a group has one
 * delivery row for each message that it has not acknowledged:
 *
 * ```
 *   publish ──► ready ──claim──► claimed ──ack──► (row deleted)
 *                 ▲                │ │ └──deadLetter──► (row deleted, letter in the dead-letter topic)
 *                 ├──nack──────────┘ └──claim ran out──► claimed by another, higher claim_version
 *                 └──delay over── delayed ◄──nack with delay
 * ```
 *
 * A row per group and message, not a cursor: identities become visible in the order of commits, not of
 * their numbers, and a cursor steps over the late ones.
 *
 * Order. Messages are handed out in the order of their positions, except what comes again. With several
 * members, each gets its share in order.
 *
 * Invariants. A message is held by one claim at most, and the claim's version is never used again: the
 * database refuses the late ack, nack or extend of another holder (`StaleMessageError`). Publishing and
 * making, moving or deleting a group exclude each other through the topic's row, locked in a statement of
 * its own before the groups are read, so that a new group misses nothing and gets nothing twice.
 * Only the database's clock decides whether a claim has run out. What is not acknowledged is never
 * deleted by retention.
 *
 * Failure. A consumer that dies keeps its messages until their claims run out; then others get them, with
 * a higher delivery count. A lost hint costs one poll interval. A payload that can't be decoded is handed
 * out all the same and fails when it is looked at, so that it can be dead-lettered by itself. A message
 * that nobody can process is moved to the dead-letter topic and acknowledged in one transaction, and
 * stays there until it is re-driven.
 *
 * NATS JetStream (`NatsTopics`) has the same role with other promises: see `capabilities` and docs/nats.md.
 */
export { type DeadLetterOriginal, deadLetterOf } from "./dead-letter.ts";
export {
  countDeadLetters,
  countRedrivable,
  type DeadLetterInfo,
  type DeadLetterPage,
  listDeadLetters,
} from "./dead-letters.ts";
export type { UndecodedMessage } from "./received-message.ts";
export { StaleMessageError } from "./stale-message-error.ts";
export type {
  DeadLetterOptions,
  GroupInfo,
  InTransaction,
  NackOptions,
  Outgoing,
  RedriveOptions,
  SeekOptions,
  SeekTarget,
  SendOutcome,
  TopicCapabilities,
  TopicInfo,
  TopicMessage,
  TopicReader,
  TopicReaderOptions,
  TopicSendOptions,
  Topics,
  TopicWriter,
  TopicWriterOptions,
} from "./topic.ts";
export { NatsTopics, type NatsTopicsOptions } from "./topic-nats.ts";
export {
  type ResolvedReaderOptions,
  resolveReaderOptions,
  resolveWriterOptions,
  topicNamePatternText,
} from "./topic-options.ts";
export { PostgresTopics } from "./topic-postgres.ts";
export { type PollRequest, TopicReaderBase } from "./topic-reader-base.ts";
export { TopicRetention, type TopicRetentionOptions } from "./topic-retention.ts";
export { type EncodedMessages, TopicWriterBase } from "./topic-writer-base.ts";
