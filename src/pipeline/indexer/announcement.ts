import type { Message } from "@bufbuild/protobuf";
import { isTallymanError } from "../../errors/index.ts";
import { logger } from "../../runtime/index.ts";
import type { TopicMessage, TopicReader } from "../../topics/index.ts";
import { ignoreStale } from "./admission.ts";

const log = logger("pipeline.intake");

/** Errors that are the message's, or those of the file that it names; no other instance would fare better. */
const messageFaults: ReadonlySet<string> = new Set([
  "TOPIC_PAYLOAD_INVALID",
  "STORAGE_KEY_INVALID",
  "STORAGE_FILE_NOT_FOUND",
  "BATCH_INVALID",
  "BATCH_CORRUPT",
  "METADATA_INVALID",
]);

/**
 * Does with an announcement what is to be done. One that nobody could ever use joins the dead letters instead:
 * delivered again and again, it would hold up its consumers for ever.
 *
 * @returns what the work returns; undefined when the message is a dead letter now
 */
export async function orDeadLetter<T extends Message, R>(
  topic: TopicReader<T>,
  message: TopicMessage<T>,
  work: (message: TopicMessage<T>) => R | Promise<R>,
): Promise<R | undefined> {
  try {
    return await work(message);
  } catch (error) {
    if (!isTallymanError(error) || !messageFaults.has(error.code)) throw error;
    log.warn(`Moved to the dead letters: message ${message.position} of ${message.topic}: ${error.message}`);
    await ignoreStale(topic.deadLetter(message, { error, sourceService: message.group }));
    return undefined;
  }
}
