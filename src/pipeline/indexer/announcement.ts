import type { Message } from "@bufbuild/protobuf";
import { isTallymanError } from "../../errors/index.ts";
import { logger } from "../../runtime/index.ts";
import type { TopicMessage, TopicReader } from "../../topics/index.ts";
import { ignoreStale } from "./admission.ts";

const log = logger("pipeline.intake");

/**
 * What a message announces; undefined when it announces nothing that anybody could index, now or later. It is
 * in the dead letters then: delivered again and again, it would hold up its consumers for ever.
 *
 * @param read throws a TallymanError for such a message
 */
export async function announcedBy<T extends Message, R>(
  topic: TopicReader<T>,
  message: TopicMessage<T>,
  read: (message: TopicMessage<T>) => R,
): Promise<R | undefined> {
  try {
    return read(message);
  } catch (error) {
    if (!isTallymanError(error)) throw error;
    log.warn(`Moved to the dead letters: message ${message.position} of ${message.topic}: ${error.message}`);
    await ignoreStale(topic.deadLetter(message, { error, sourceService: message.group }));
    return undefined;
  }
}
