import { getEventListeners } from "node:events";
import { errors } from "@nats-io/transport-node";
import { describe, expect, it, vi } from "vitest";
import { BatchInfoSchema } from "../contracts/index.ts";
import { deferred } from "../runtime/index.ts";
import { type NatsReaderTarget, NatsTopicReader } from "./topic-nats-reader.ts";
import { resolveReaderOptions } from "./topic-options.ts";

const nothing = { headers: { code: 404, description: "No Messages" } };

const unused = () => Promise.reject(new Error("unused"));

const delivered = { subject: "tallyman.topic.t._", reply: "$JS.ACK.s.c.1.7.1.0.0", data: new Uint8Array() };

/** A reader on a connection whose pulls end like this, and whose requests are answered like that. */
function readerOf(
  pull: () => Iterable<unknown> | AsyncIterable<unknown>,
  request: () => Promise<unknown> = unused,
) {
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
    request,
  };
  const state = { epoch: 1, startSequence: 1, isPaused: false, isDeleted: false, createdAtMs: 0 };
  const manager = { consumers: { add: async () => ({}) } };
  const groups = { find: async () => state };
  const target = { connection, manager, groups, state } as unknown as NatsReaderTarget;
  const options = resolveReaderOptions({ topic: "t", group: "g", claimTimeoutMs: 0 });
  return new NatsTopicReader(BatchInfoSchema, options, target);
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

describe("an ack", () => {
  it("gives up after half a minute, though the claim never runs out", async () => {
    let nowMs = 0;
    using _clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const unanswered = () => {
      nowMs += 5_000;
      return Promise.reject(nowMs > 100_000 ? new Error("asked for ever") : new errors.TimeoutError());
    };
    await using reader = readerOf(() => [delivered], unanswered);
    const [message] = await reader.pollMany(1, 0);
    await expect(reader.ack(message ?? [])).rejects.toMatchObject({ code: "NATS_UNREACHABLE" });
    expect(nowMs).toBe(30_000);
  });
});

describe("a close", () => {
  it("waits for a poll that was left, and is none the worse for its failure", async () => {
    const [pulling, lost] = [deferred(), deferred()];
    const reader = readerOf(async function* () {
      pulling.resolve();
      await lost.promise;
      yield nothing;
    });
    const leaving = new AbortController();
    const polling = reader.poll(20_000, leaving.signal);
    await pulling.promise;
    leaving.abort();
    await expect(polling).rejects.toMatchObject({ code: "ABORTED" });
    const closing = reader.close();
    lost.reject(new errors.ClosedConnectionError());
    await expect(closing).resolves.toBeUndefined();
  });
});
