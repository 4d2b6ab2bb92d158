import { TallymanError } from "../errors/index.ts";
import type { TopicMessage } from "./topic.ts";

/** What a late holder tried. */
export type Settlement = "ack" | "nack" | "extend" | "dead-letter";

/**
 * The caller no longer holds these messages: their claim ran out and another consumer may have them,
 * or they were settled before, or the group was moved. What was done with them must not count twice.
 */
export class StaleMessageError extends TallymanError {
  override readonly name = "StaleMessageError";
  /** The messages that were refused. */
  readonly messages: readonly TopicMessage<unknown>[];

  constructor(settlement: Settlement, messages: readonly TopicMessage<unknown>[]) {
    const [first] = messages;
    const positions = messages.map((message) => message.position);
    super(
      "STALE_MESSAGE",
      `Too late to ${settlement} ${describe(positions)} of topic ${first?.topic} for group ${first?.group}: the claim is no longer held. Drop what was done with it; it is delivered again unless it was settled.`,
      { details: { settlement, topic: first?.topic, group: first?.group, positions } },
    );
    this.messages = messages;
  }
}

const positionsNamedMax = 5;

function describe(positions: readonly number[]): string {
  const named = positions.slice(0, positionsNamedMax).join(", ");
  const more = positions.length - positionsNamedMax;
  return `${positions.length === 1 ? "message" : "messages"} ${named}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Throws when some of the messages were refused. */
export function refuseStale(
  settlement: Settlement,
  messages: readonly TopicMessage<unknown>[],
  settled: ReadonlySet<number>,
): void {
  const stale = messages.filter(({ position }) => !settled.has(position));
  if (stale.length > 0) throw new StaleMessageError(settlement, stale);
}
