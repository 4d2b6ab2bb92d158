import type { StoredBytes } from "./storage-driver.ts";

/** Most batch files are smaller; a larger one is fetched twice rather than held. */
const heldBytesMax = 8 * 1024 * 1024;

/** Loads a small file at once, so that its second pass costs no second fetch; leaves a large one as it is. */
export async function heldInMemory(source: StoredBytes): Promise<StoredBytes> {
  if (source.size > heldBytesMax) return source;
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of source.stream()) chunks.push(Buffer.from(chunk));
    return storedBuffer(Buffer.concat(chunks), source.writtenAtMs);
  } finally {
    await source.close();
  }
}

/** A buffer as a stored file. */
export function storedBuffer(bytes: Buffer, writtenAtMs = 0): StoredBytes {
  return {
    size: bytes.length,
    writtenAtMs,
    async *stream(from = 0) {
      yield bytes.subarray(from);
    },
    close: async () => undefined,
  };
}
