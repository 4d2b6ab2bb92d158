/** The load: batches of 100 messages through the public API, from several clients at once. */
import { create } from "@bufbuild/protobuf";
import { BatchInfoSchema } from "../../src/contracts/index.ts";
import type { Topics } from "../../src/topics/index.ts";

export const batchSize = 100;
export const topic = "bench";
export const group = "bench";
export const payloadBytes = 96;

/** Node compiles what it runs often; pgbench is compiled. */
const warmUpMs = 1_000;

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

/** Messages published per second. */
export async function publishRate(connect: Connect, clients: number, seconds: number): Promise<number> {
  const writers = await Promise.all(
    Array.from({ length: clients }, async () => (await connect()).writer(BatchInfoSchema, { topic })),
  );
  return rate(seconds, writers, async (writer, client, turn) => {
    await writer.sendMany(batch(client, turn));
    return batchSize;
  });
}

/** Messages claimed and acknowledged per second; ends early when none is left. */
export async function consumeRate(connect: Connect, clients: number, seconds: number): Promise<number> {
  const readers = await Promise.all(
    Array.from({ length: clients }, async () => (await connect()).reader(BatchInfoSchema, { topic, group })),
  );
  return rate(seconds, readers, async (reader) => {
    const taken = await reader.pollMany(batchSize, 0);
    await reader.ack(taken);
    return taken.length;
  });
}

async function rate<Client>(
  seconds: number,
  clients: readonly Client[],
  turn: (client: Client, index: number, turn: number) => Promise<number>,
): Promise<number> {
  const startMs = performance.now() + warmUpMs;
  const untilMs = startMs + seconds * 1000;
  const loop = async (client: Client, index: number) => {
    let done = 0;
    for (let n = 0; performance.now() < untilMs; n++) {
      const isMeasured = performance.now() >= startMs;
      const count = await turn(client, index, n);
      if (count === 0) break;
      if (isMeasured) done += count;
    }
    return done;
  };
  const counts = await Promise.all(clients.map(loop));
  const total = counts.reduce((sum, count) => sum + count, 0);
  return total / ((performance.now() - startMs) / 1000);
}
