import { describe, expect, it } from "vitest";
import { randomFrom } from "../../tests/helpers/chaos.ts";
import { hostileMessages, randomMessages } from "../../tests/kit/hostile-protobuf.ts";
import { BatchInfoSchema } from "../contracts/index.ts";
import { ReceivedMessage } from "./received-message.ts";

const randomCount = 5_000;
const seed = 20261116;

function payloadOf(bytes: Uint8Array): string {
  const position = { topic: "t", group: "g", runId: "run-1", position: 1, key: undefined };
  const delivery = { publishedAt: new Date(0), deliveries: 1, claimVersion: 1 };
  const message = new ReceivedMessage(BatchInfoSchema, { ...position, ...delivery, bytes });
  try {
    return message.payload.$typeName;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe("the payload of a received message", () => {
  it.each(Object.entries(hostileMessages))("is decoded or refused: %s", (_, bytes) => {
    expect(["tallyman.v1.BatchInfo", "TOPIC_PAYLOAD_INVALID"]).toContain(payloadOf(bytes));
  });

  it(`is decoded or refused, whatever the bytes (${randomCount}, seed ${seed})`, () => {
    const outcomes = new Set(randomMessages(randomCount, randomFrom(seed)).map(payloadOf));
    expect([...outcomes].sort()).toEqual(["TOPIC_PAYLOAD_INVALID", "tallyman.v1.BatchInfo"]);
  });
});
