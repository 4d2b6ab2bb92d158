import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type pg from "pg";
import { from as copyFrom } from "pg-copy-streams";

/**
 * Streams `COPY … FROM STDIN`. Memory is bounded by the chunks in flight: the socket's back-pressure
 * reaches the source. `pg` refuses a COPY on a pipelining client because statements written behind it
 * would be taken for data, so the client stops pipelining until the copy has ended.
 *
 * @returns the number of rows copied
 */
export async function copyIn(
  client: pg.ClientBase,
  text: string,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<number> {
  const switchable = client as pg.ClientBase & { pipeline?: boolean };
  const wasPipelining = switchable.pipeline ?? false;
  switchable.pipeline = false;
  try {
    const stream = client.query(copyFrom(text));
    await pipeline(Readable.from(chunks, { objectMode: true, highWaterMark: 1 }), stream);
    return stream.rowCount;
  } finally {
    switchable.pipeline = wasPipelining;
  }
}
