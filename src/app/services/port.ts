import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type {
  BatchCoordinator,
  DatabaseIdempotencyTracker,
  MetadataReader,
  MetadataWriter,
  RetryTracker,
} from "../../coordination/index.ts";
import type { Database } from "../../database/index.ts";
import type { DeadLetterQueue } from "../../pipeline/index.ts";
import type { BatchStorage } from "../../storage/index.ts";
import type { TopicReader, TopicWriter } from "../../topics/index.ts";
import type { ResourceUsage } from "../config/index.ts";

/**
 * What each usage hands to a service. Topics and queues are not here: what they carry depends on the port.
 */
export interface UsageTypes {
  readonly "storage-read": BatchStorage;
  readonly "storage-write": BatchStorage;
  readonly "db-meta-read": MetadataReader;
  readonly "db-meta-write": MetadataWriter;
  readonly "db-coordinator": BatchCoordinator;
  readonly "db-idempotency": DatabaseIdempotencyTracker;
  readonly "db-tables": Database;
  readonly "retry-tracker": RetryTracker;
  readonly dlq: DeadLetterQueue;
}

declare const valueType: unique symbol;

/** A place of a service where one resource is plugged in: with which usage, and whether it must be. */
export interface Port<Value = unknown, IsOptional extends boolean = boolean> {
  readonly usage: ResourceUsage;
  readonly isOptional: IsOptional;
  /** Class that the resource must have, where one usage has several. */
  readonly resourceClass?: string;
  /** Type of the messages, for a topic. */
  readonly schema?: DescMessage;
  /** Only for the compiler: what the service gets. */
  readonly [valueType]?: Value;
}

/** The ports of a service type, by name. */
export type Ports = Readonly<Record<string, Port>>;

type OptionalNames<P extends Ports> = {
  [Name in keyof P]: true extends P[Name]["isOptional"] ? Name : never;
}[keyof P];

type ValueOf<P> = P extends Port<infer Value> ? Value : never;

/** What is plugged into the ports of a service: an object of typed resources. */
export type BoundResources<P extends Ports> = {
  readonly [Name in Exclude<keyof P, OptionalNames<P>>]: ValueOf<P[Name]>;
} & { readonly [Name in OptionalNames<P>]?: ValueOf<P[Name]> };

/**
 * A port that must be bound.
 *
 * @example
 * ```ts
 * const ports = { storage: port("storage-read"), deadLetters: optionalPort(port("dlq")) };
 * ```
 */
export function port<Usage extends keyof UsageTypes>(usage: Usage): Port<UsageTypes[Usage], false> {
  return { usage, isOptional: false };
}

/**
 * A port for a topic of messages of one type.
 *
 * @example
 * ```ts
 * const ports = { topic: topicPort("topic-read", BatchInfoSchema) };
 * ```
 */
export function topicPort<Desc extends DescMessage>(
  usage: "topic-read",
  schema: Desc,
): Port<TopicReader<MessageShape<Desc>>, false>;
export function topicPort<Desc extends DescMessage>(
  usage: "topic-write",
  schema: Desc,
): Port<TopicWriter<MessageShape<Desc>>, false>;
export function topicPort(usage: "topic-read" | "topic-write", schema: DescMessage): Port<unknown, false> {
  return { usage, schema, isOptional: false };
}

/**
 * A port for a queue inside the process.
 *
 * @param resourceClass the class of the queue, as the configuration names it
 * @example
 * ```ts
 * const ports = { queue: queuePort<TickQueue>("queue-in", "TickQueue") };
 * ```
 */
export function queuePort<Queue>(usage: "queue-in" | "queue-out", resourceClass: string): Port<Queue, false> {
  return { usage, resourceClass, isOptional: false };
}

/** The same port, but it may be left unbound. */
export function optionalPort<Value>(required: Port<Value>): Port<Value, true> {
  return { ...required, isOptional: true };
}
