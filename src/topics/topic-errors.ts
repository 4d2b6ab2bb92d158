import { TallymanError } from "../errors/index.ts";

export function topicNotFound(topic: string): TallymanError {
  return new TallymanError(
    "TOPIC_NOT_FOUND",
    `There is no topic '${topic}'. 'tallyman topic list' shows those that exist; the first writer or reader makes one.`,
    { details: { topic } },
  );
}

export function groupNotFound(topic: string, group: string): TallymanError {
  return new TallymanError(
    "TOPIC_GROUP_NOT_FOUND",
    `Topic '${topic}' has no consumer group '${group}'. 'tallyman topic groups ${topic}' shows those that exist; the first reader makes one.`,
    { details: { topic, group } },
  );
}

export function typeMismatch(topic: string, found: string, given: string): TallymanError {
  return new TallymanError(
    "TOPIC_TYPE_MISMATCH",
    `Topic '${topic}' holds ${found}, not ${given}. Use another topic, or the type that it was made with.`,
    { details: { topic, found, given } },
  );
}

export function unsupported(what: string): TallymanError {
  return new TallymanError("UNSUPPORTED_BY_DRIVER", `${what} Ask 'capabilities' first.`);
}

/** A closed reader or writer was used. */
export function closed(what: string): TallymanError {
  return new TallymanError("INVALID_STATE", `${what} is closed.`);
}
