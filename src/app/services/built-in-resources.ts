import {
  createBatchCoordinator,
  DatabaseIdempotencyTracker,
  DatabaseRetryTracker,
  InMemoryRetryTracker,
  MetadataReader,
  MetadataWriter,
} from "../../coordination/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { MetadataQueue, TickQueue } from "../../pipeline/index.ts";
import { resolveOptions } from "../../runtime/index.ts";
import { openStorage } from "../../storage/index.ts";
import { NatsTopics, type NatsTopicsOptions } from "../../topics/index.ts";
import type { Tallyman } from "../tallyman.ts";
import {
  type Binding,
  type OpenResource,
  type ResourceContext,
  ResourceRegistry,
  type ResourceType,
} from "./resource-registry.ts";
import { topicResource, withNumbers } from "./topic-resource.ts";

const queueUsages = ["queue-in", "queue-out"] as const;
const databaseUsages = [
  "db-meta-read",
  "db-meta-write",
  "db-coordinator",
  "db-idempotency",
  "db-tables",
  "retry-tracker",
] as const;
const topicUsages = ["topic-read", "topic-write", "dlq"] as const;

/** Options of NATS itself; the rest are the topic's. */
const natsOptionNames = ["servers", "replicas", "duplicateWindowMs"];

/**
 * A new registry with the resource classes that come with Tallyman.
 *
 * | class | usages |
 * |---|---|
 * | FileSystemStorage, S3Storage | storage-read, storage-write |
 * | PostgresTopic, NatsTopic | topic-read, topic-write, dlq |
 * | TickQueue, MetadataQueue (inside the process) | queue-in, queue-out |
 * | PostgresDatabase | db-meta-read, db-meta-write, db-coordinator, db-idempotency, db-tables, retry-tracker |
 * | InMemoryRetryTracker (inside the process) | retry-tracker |
 *
 * PostgresTopic and PostgresDatabase are in the configured database, so that an acknowledgement can commit
 * with the rows it is about.
 */
export function builtInResources(): ResourceRegistry {
  return new ResourceRegistry()
    .registerResourceType("FileSystemStorage", storageType("FileSystemStorage"))
    .registerResourceType("S3Storage", storageType("S3Storage"))
    .registerResourceType("PostgresTopic", { usages: topicUsages, open: openPostgresTopic })
    .registerResourceType("NatsTopic", { usages: topicUsages, open: openNatsTopic })
    .registerResourceType("TickQueue", {
      usages: queueUsages,
      open: ({ options }) => queueResource(new TickQueue(withNumbers(options, ["recordsMax", "bytesMax"]))),
    })
    .registerResourceType("MetadataQueue", {
      usages: queueUsages,
      open: ({ options }) => {
        refuseOptions(options);
        return queueResource(new MetadataQueue());
      },
    })
    .registerResourceType("InMemoryRetryTracker", {
      usages: ["retry-tracker"],
      open: ({ options }) => {
        refuseOptions(options);
        const tracker = new InMemoryRetryTracker();
        return { bind: () => tracker };
      },
    })
    .registerResourceType("PostgresDatabase", {
      usages: databaseUsages,
      open: openPostgresDatabase,
    });
}

function storageType(className: string): ResourceType {
  return {
    usages: ["storage-read", "storage-write"],
    open: ({ options, folder }) => {
      const storage = openStorage({ className, options }, folder);
      return {
        bind: () => storage,
        monitorable: storage,
        close: async () => storage[Symbol.asyncDispose](),
      };
    },
  };
}

function queueResource(queue: TickQueue | MetadataQueue): OpenResource {
  return { bind: () => queue, monitorable: queue, close: async () => queue.close() };
}

/** For classes that have no options. */
function refuseOptions(options: Readonly<Record<string, unknown>>): void {
  resolveOptions<Record<string, never>>({}, options as Record<string, never>);
}

function openPostgresTopic(context: ResourceContext): Promise<OpenResource> {
  return topicResource(context, () => context.tallyman.topics);
}

async function openNatsTopic({ name, options, shared }: ResourceContext): Promise<OpenResource> {
  const isNats = ([option]: [string, unknown]) => natsOptionNames.includes(option);
  const given = Object.fromEntries(Object.entries(options).filter(isNats));
  const rest = Object.fromEntries(Object.entries(options).filter((entry) => !isNats(entry)));
  const engine = withNumbers(given, ["replicas", "duplicateWindowMs"]) as unknown as NatsTopicsOptions;
  if (!engine.servers) throw serversMissing(name);
  return topicResource({ name, options: rest }, () =>
    shared(`nats ${JSON.stringify(engine)}`, () => NatsTopics.connect(engine)),
  );
}

function openPostgresDatabase({ options, tallyman }: ResourceContext): OpenResource {
  refuseOptions(options);
  return { bind: (binding) => capability(binding, tallyman) };
}

function capability({ usage, parameters }: Binding, { database }: Tallyman): unknown {
  switch (usage) {
    case "db-meta-read":
      return new MetadataReader(database);
    case "db-meta-write":
      return new MetadataWriter(database);
    case "db-coordinator":
      return createBatchCoordinator(database, withNumbers(parameters, ["leaseMs"]));
    case "db-idempotency":
      return new DatabaseIdempotencyTracker(database);
    case "retry-tracker":
      return new DatabaseRetryTracker(database);
    default:
      return database;
  }
}

function serversMissing(name: string): TallymanError {
  return new TallymanError(
    "INVALID_OPTION",
    `resources.${name}: a NatsTopic needs the option servers, for example nats://localhost:4222.`,
    { details: { option: "servers" } },
  );
}
