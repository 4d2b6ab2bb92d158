import type { DescMessage } from "@bufbuild/protobuf";
import { TallymanError } from "../../errors/index.ts";
import { DeadLetterQueue } from "../../pipeline/index.ts";
import { type GivenOptions, oneOf, resolveOptions, wholeNumber } from "../../runtime/index.ts";
import type { Topics } from "../../topics/index.ts";
import type { Binding, OpenResource, ResourceContext } from "./resource-registry.ts";

/** Options that a topic has on every engine, in the `options` of its resource. */
export interface TopicResourceOptions {
  /** Name of the topic. Default: the resource's name. */
  readonly topic: string;
  /** Seconds after which a message that is held goes to another consumer; 0: never. Default 300. */
  readonly claimTimeout: number;
  /** Letters that it may hold, as a dead-letter queue. Default 10,000. */
  readonly capacity: number;
  /** How long acknowledged messages are kept. Default: the topic's present setting, at first for ever. */
  readonly retentionMs?: number;
}

/** Parameters of a `topic-read` binding, in its URI. */
interface ReadParameters {
  /** Members of one group share the messages; groups do not affect each other. */
  readonly consumerGroup?: string;
  /** Where a new group starts. */
  readonly startAt: "beginning" | "now";
  /** As in {@link TopicResourceOptions}, for this reader alone. */
  readonly claimTimeout: number;
  readonly pollIntervalMs: number;
  /** Where given-up messages go: the topic of the service's `dlq`. Default `<topic>-dead-letters`. */
  readonly deadLetterTopic?: string;
}

const secondMs = 1_000;
const claimTimeoutDefault = 300;
const pollIntervalMsDefault = 1_000;
const capacityDefault = 10_000;

/**
 * A topic as a resource, on any engine: what a resource type for topics returns when it is opened. It opens the readers,
 * writers and dead-letter queues that ports ask for, and closes them; the engine belongs to whoever made it.
 *
 * @param context.options those of the topic, see {@link TopicResourceOptions}; take the engine's own out before
 * @param open gives the engine, after the options have been found right
 * @throws TallymanError INVALID_OPTION
 * @example
 * ```ts
 * const resources = builtInResources().registerResourceType("MemoryTopic", {
 *   usages: ["topic-read", "topic-write", "dlq"],
 *   open: (context) => topicResource(context, () => topics),
 * });
 * ```
 */
export async function topicResource(
  { name, options }: Pick<ResourceContext, "name" | "options">,
  open: () => Topics | Promise<Topics>,
): Promise<OpenResource> {
  const resolved = resolveTopicOptions(name, options);
  return new TopicResource(await open(), resolved);
}

function resolveTopicOptions(
  name: string,
  given: Readonly<Record<string, unknown>>,
): Readonly<TopicResourceOptions> {
  return resolveOptions<TopicResourceOptions>(
    {
      topic: name,
      claimTimeout: claimTimeoutDefault,
      capacity: capacityDefault,
      retentionMs: undefined,
    },
    withNumbers(given, ["claimTimeout", "capacity", "retentionMs"]) as GivenOptions<TopicResourceOptions>,
    { claimTimeout: wholeNumber({ min: 0 }), retentionMs: wholeNumber() },
  );
}

class TopicResource implements OpenResource {
  readonly #topics: Topics;
  readonly #options: Readonly<TopicResourceOptions>;
  readonly #opened: { close(): Promise<void> }[] = [];
  #isRetentionSet = false;

  constructor(topics: Topics, options: Readonly<TopicResourceOptions>) {
    this.#topics = topics;
    this.#options = options;
  }

  async bind(binding: Binding): Promise<unknown> {
    const end = await this.#open(binding);
    this.#opened.push(end);
    await this.#setRetention();
    return end;
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((end) => end.close()));
  }

  #open(binding: Binding): Promise<{ close(): Promise<void> }> {
    const { topic, capacity } = this.#options;
    if (binding.usage === "dlq") return DeadLetterQueue.open(this.#topics, { topic, capacity });
    const schema = schemaOf(binding);
    if (binding.usage === "topic-write") return this.#topics.writer(schema, { topic });
    const { consumerGroup, claimTimeout, ...rest } = readParameters(binding, this.#options);
    if (!consumerGroup) throw groupMissing(binding);
    const claimTimeoutMs = claimTimeout * secondMs;
    return this.#topics.reader(schema, {
      topic,
      group: consumerGroup,
      claimTimeoutMs,
      ...rest,
    });
  }

  /** The first reader or writer makes the topic; before that there is nothing to set. */
  async #setRetention(): Promise<void> {
    const { topic, retentionMs } = this.#options;
    if (retentionMs === undefined || this.#isRetentionSet) return;
    await this.#topics.setRetention(topic, retentionMs);
    this.#isRetentionSet = true;
  }
}

function readParameters(binding: Binding, options: TopicResourceOptions): Readonly<ReadParameters> {
  const given = withNumbers(binding.parameters, ["claimTimeout", "pollIntervalMs"]);
  try {
    return resolveOptions<ReadParameters>(
      {
        consumerGroup: undefined,
        startAt: "beginning",
        claimTimeout: options.claimTimeout,
        pollIntervalMs: pollIntervalMsDefault,
        deadLetterTopic: undefined,
      },
      given as GivenOptions<ReadParameters>,
      { startAt: oneOf("beginning", "now"), claimTimeout: wholeNumber({ min: 0 }) },
    );
  } catch (error) {
    throw new TallymanError("INVALID_OPTION", `${place(binding)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Whole numbers that came as text, from a URI or the environment, as numbers. */
export function withNumbers(
  given: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  const isText = (name: string, value: unknown) =>
    names.includes(name) && typeof value === "string" && /^\d{1,15}$/.test(value);
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, isText(name, value) ? Number(value) : value]),
  );
}

function schemaOf(binding: Binding): DescMessage {
  if (binding.schema) return binding.schema;
  throw new TallymanError(
    "INVALID_STATE",
    `${place(binding)}: the service type does not say what messages it takes. Declare the port with topicPort().`,
  );
}

function groupMissing(binding: Binding): TallymanError {
  return new TallymanError(
    "INVALID_OPTION",
    `${place(binding)}: a reader needs a consumer group. Write topic-read:<resource>?consumerGroup=<name>.`,
    { details: { service: binding.service, port: binding.port } },
  );
}

function place({ service, port }: Binding): string {
  return `Port '${port}' of service '${service}'`;
}
