import { getEventListeners } from "node:events";
import { errors } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { BatchInfoSchema } from "../contracts/index.ts";
import { type NatsReaderTarget, NatsTopicReader } from "./topic-nats-reader.ts";
import { resolveReaderOptions } from "./topic-options.ts";

const nothing = { headers: { code: 404, description: "No Messages" } };

/** A reader on a connection whose pulls end like this. */
function readerOf(pull: () => readonly unknown[]) {
  const updates = { unsubscribe: () => undefined };
  const connection = {
    subscribe: (_subject: string, options?: object) => {
      if (options) return updates;
      const messages = pull();
      return {
        unsubscribe: () => undefined,
        async *[Symbol.asyncIterator]() {
          yield* messages;
        },
      };
    },
    publish: () => undefined,
  };
  const state = { epoch: 1, startSequence: 1, isPaused: false, isDeleted: false, createdAtMs: 0 };
  const manager = { consumers: { add: async () => ({}) } };
  const target = { connection, manager, state } as unknown as NatsReaderTarget;
  return new NatsTopicReader(BatchInfoSchema, resolveReaderOptions({ topic: "t", group: "g" }), target);
}

describe("a poll", () => {
  it("leaves no listener behind on the signal of its caller", async () => {
    await using reader = readerOf(() => [nothing]);
    const { signal } = new AbortController();
    for (let polls = 0; polls < 3; polls++) expect(await reader.poll(0, signal)).toBeUndefined();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("on a connection that was closed says that NATS is out of reach", async () => {
    await using reader = readerOf(() => {
      throw new errors.ClosedConnectionError();
    });
    await expect(reader.poll(0)).rejects.toMatchObject({ code: "NATS_UNREACHABLE" });
  });
});
