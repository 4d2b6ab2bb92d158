import { expect, it } from "vitest";
import type { BatchInfo } from "../../contracts/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { configureLogging, currentLogging } from "../../runtime/index.ts";
import { StaleMessageError, type TopicMessage, type TopicReader } from "../../topics/index.ts";
import { orDeadLetter } from "./announcement.ts";

const message = { position: 1, topic: "batch-topic", group: "g" } as TopicMessage<BatchInfo>;
const unsound = () => {
  throw new TallymanError("TOPIC_PAYLOAD_INVALID", "no message");
};

function topicThat(deadLetter: () => Promise<void>): TopicReader<BatchInfo> {
  const topic: Partial<TopicReader<BatchInfo>> = { deadLetter };
  return topic as TopicReader<BatchInfo>;
}

it("passes over an unsound message that somebody else has by now", async () => {
  const logging = currentLogging();
  configureLogging({ level: "error" });
  const topic = topicThat(() => Promise.reject(new StaleMessageError("dead-letter", [message])));
  expect(await orDeadLetter(topic, message, unsound)).toBeUndefined();
  configureLogging(logging);
});

it("condemns no message for an error that is not about it", async () => {
  const topic = topicThat(() => Promise.reject(new Error("must not be called")));
  const broken = () => {
    throw new TypeError("a mistake of ours");
  };
  await expect(orDeadLetter(topic, message, broken)).rejects.toThrow("a mistake of ours");
});
