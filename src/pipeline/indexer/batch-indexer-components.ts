import type { BatchInfo } from "../../contracts/index.ts";
import {
  type BatchCoordinator,
  type BatchCoordinatorReady,
  createBatchCoordinator,
  DatabaseIdempotencyTracker,
  DatabaseRetryTracker,
  type IdempotencyTracker,
  MetadataReader,
  type RetryTracker,
} from "../../coordination/index.ts";
import { TallymanError } from "../../errors/index.ts";
import type { TopicReader } from "../../topics/index.ts";
import { DlqComponent } from "../components/dlq-component.ts";
import { GapDetectionComponent } from "../components/gap-detection-component.ts";
import { IdempotencyComponent } from "../components/idempotency-component.ts";
import { MetadataReadingComponent } from "../components/metadata-reading-component.ts";
import { TickBufferingComponent } from "../components/tick-buffering-component.ts";
import type { DeadLetterQueue } from "../dead-letter-queue.ts";
import type { BatchIndexerOptions } from "./batch-indexer-options.ts";
import type { IndexerResources, RunScoped } from "./indexer.ts";

/**
 * What a batch indexer may be made of.
 *
 * - METADATA: waits until the run's metadata is indexed.
 * - COORDINATION: claims files in the ledger; this is what makes effects exactly-once.
 * - GAP_DETECTION: finds what is missing (needs METADATA and COORDINATION).
 * - BUFFERING: inserts across files; without it, tick by tick.
 * - IDEMPOTENCY: does not read again what was processed; only saves work.
 * - DLQ: gives a file up after repeated failure.
 */
export type ComponentType =
  | "METADATA"
  | "COORDINATION"
  | "GAP_DETECTION"
  | "BUFFERING"
  | "IDEMPOTENCY"
  | "DLQ";

/** What a batch indexer works with; what is left out is made on `database` when a component needs it. */
export interface BatchIndexerResources extends IndexerResources {
  /** Announcements of files; required unless `source` is `discovery`. In the database of the tables, or on NATS. */
  readonly topic?: TopicReader<BatchInfo> | undefined;
  readonly metadata?: MetadataReader | undefined;
  readonly coordinator?: BatchCoordinator | undefined;
  readonly idempotency?: IdempotencyTracker | undefined;
  readonly retryTracker?: RetryTracker | undefined;
  /** Adds DLQ to what the indexer is made of; its topic is the topic's `deadLetterTopic`. */
  readonly deadLetters?: DeadLetterQueue | undefined;
}

/** The components that an indexer has. */
export interface BatchIndexerComponents<T> {
  readonly metadata: MetadataReadingComponent | undefined;
  readonly coordinator: BatchCoordinatorReady | undefined;
  readonly gapDetection: GapDetectionComponent | undefined;
  readonly buffering: TickBufferingComponent<T> | undefined;
  readonly idempotency: IdempotencyComponent | undefined;
  readonly dlq: DlqComponent | undefined;
  /** What among them must know the run. */
  readonly runScoped: readonly RunScoped[];
  /** Figures of what was made here for want of a resource; a resource that was given has them itself. */
  ownMetrics(): Readonly<Record<string, number>>;
}

/** Makes the components that an indexer declares. @throws TallymanError INVALID_OPTION for one that lacks another */
export function createComponents<T>(
  indexerClass: string,
  types: ReadonlySet<ComponentType>,
  resources: BatchIndexerResources,
  options: Readonly<BatchIndexerOptions>,
): BatchIndexerComponents<T> {
  refuseIncomplete(indexerClass, types, resources, options);
  const { database, storage, deadLetters } = resources;
  const has = (type: ComponentType) => types.has(type);
  const reader = has("METADATA") ? (resources.metadata ?? new MetadataReader(database)) : undefined;
  const coordinator = has("COORDINATION")
    ? (resources.coordinator ?? createBatchCoordinator(database)).setIndexerClass(indexerClass)
    : undefined;
  const tracker = has("IDEMPOTENCY")
    ? (resources.idempotency ?? new DatabaseIdempotencyTracker(database))
    : undefined;
  const { maxRetries, gapWarningTimeoutMs } = options;
  const own = [resources.metadata ? undefined : reader, resources.coordinator ? undefined : coordinator];
  return {
    metadata: reader && new MetadataReadingComponent(reader, options),
    coordinator,
    gapDetection:
      coordinator && has("GAP_DETECTION")
        ? new GapDetectionComponent(coordinator, storage, { gapWarningTimeoutMs })
        : undefined,
    buffering: has("BUFFERING") ? new TickBufferingComponent<T>(options) : undefined,
    idempotency: tracker && new IdempotencyComponent(tracker, indexerClass),
    dlq:
      has("DLQ") && deadLetters
        ? new DlqComponent({
            retryTracker: resources.retryTracker ?? new DatabaseRetryTracker(database),
            room: deadLetters,
            maxRetries,
            indexerClass,
          })
        : undefined,
    runScoped: [reader, coordinator, tracker, resources.topic].flatMap(runScoped),
    ownMetrics: () => Object.assign({}, ...own.map((each) => each?.getMetrics())),
  };
}

function runScoped(resource: object | undefined): RunScoped[] {
  return resource && "setSimulationRun" in resource ? [resource as RunScoped] : [];
}

function refuseIncomplete(
  indexerClass: string,
  types: ReadonlySet<ComponentType>,
  { topic, deadLetters }: BatchIndexerResources,
  { source }: Readonly<BatchIndexerOptions>,
): void {
  const refuse = (problem: string) => {
    throw new TallymanError("INVALID_OPTION", `${indexerClass}: ${problem}`, { details: { indexerClass } });
  };
  if (types.has("GAP_DETECTION") && !(types.has("METADATA") && types.has("COORDINATION")))
    refuse("GAP_DETECTION needs METADATA and COORDINATION.");
  if (types.has("DLQ") && !deadLetters) refuse("DLQ needs the resource 'deadLetters'.");
  if (source === "topic" && topic && deadLetters && topic.deadLetterTopic !== deadLetters.topic)
    refuse(
      `dead letters would go to '${topic.deadLetterTopic}', not to '${deadLetters.topic}'. Open the topic with deadLetterTopic '${deadLetters.topic}'.`,
    );
  if (source === "topic" && !topic)
    refuse("the source 'topic' needs the resource 'topic'; or use 'discovery'.");
  if (source === "discovery" && !types.has("COORDINATION"))
    refuse("the source 'discovery' needs COORDINATION, which remembers what is done.");
}
