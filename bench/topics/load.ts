/** The load: batches of 100 messages through the public API, from several clients at once. */
import { create } from "@bufbuild/protobuf";
import { BatchInfoSchema } from "../../src/contracts/index.ts";
import type { Topics } from "../../src/topics/index.ts";

export const batchSize = 100;
export const topic = "bench";
export const group = "bench";
export const payloadBytes = 96;

/** Opens a client of its own, as another process would have. */
export type Connect = () => Promise<Topics>;

/** Made once: what is measured is sending, not making, messages. */
const messages = Array.from({ length: batchSize }, (_, i) =>
  create(BatchInfoSchema, {
    storageKey: `run/raw/000/batch_${i}`.padEnd(payloadBytes - 20, "0"),
    tickStart: 1n,
    tickEnd: 100n,
    bytes: 1_000_000n,
    crc: 1,
  }),
);

function batch(client: number, turn: number) {
  return messages.map((message, i) => ({ message, key: `${client}/${turn}/${i}` }));
}

/** Clients and how long they work. */
export interface TopicLoad {
  readonly clients: number;
  readonly seconds: number;
}

/** Messages published in that time. */
export async function publisher(connect: Connect, { clients, seconds }: TopicLoad) {
  const writers = await Promise.all(
    Array.from({ length: clients }, async () => (await connect()).writer(BatchInfoSchema, { topic })),
  );
  return () =>
    turns(seconds, writers, async (writer, client, turn) => {
      await writer.sendMany(batch(client, turn));
      return batchSize;
    });
}

/** Messages claimed and acknowledged in that time; ends early when none is left. */
export async function consumer(connect: Connect, { clients, seconds }: TopicLoad) {
  const readers = await Promise.all(
    Array.from({ length: clients }, async () => (await connect()).reader(BatchInfoSchema, { topic, group })),
  );
  return () =>
    turns(seconds, readers, async (reader) => {
      const taken = await reader.pollMany(batchSize, 0);
      await reader.ack(taken);
      return taken.length;
    });
}

async function turns<Client>(
  seconds: number,
  clients: readonly Client[],
  turn: (client: Client, index: number, turn: number) => Promise<number>,
): Promise<number> {
  const untilMs = performance.now() + seconds * 1000;
  const loop = async (client: Client, index: number) => {
    let done = 0;
    for (let n = 0; performance.now() < untilMs; n++) {
      const count = await turn(client, index, n);
      if (count === 0) break;
      done += count;
    }
    return done;
  };
  const counts = await Promise.all(clients.map(loop));
  return counts.reduce((sum, count) => sum + count, 0);
}
