/** Values of a list, at once or bit by bit. */
export type Values = Iterable<unknown> | AsyncIterable<unknown>;

/** Characters that are sent together: a packet per line would take its time. */
const chunkLetters = 65_536;

/** What is sent, and what went wrong in making it. */
interface RequestBody {
  /** The part of a request's settings that is about its body. */
  init(): RequestInit & { readonly duplex?: "half" };
  /** Throws what the source of the values threw, if it did: then no server is to blame. */
  rethrow(): void;
}

/** One JSON value. */
export function jsonBody(value: unknown): RequestBody {
  return { init: () => ({ body: JSON.stringify(value ?? {}) }), rethrow: () => {} };
}

/** One JSON value per line; values that come bit by bit are sent so, and never held together. */
export class NdjsonBody implements RequestBody {
  readonly #values: Values;
  #failure: { readonly error: unknown } | undefined;

  constructor(values: Values) {
    this.#values = values;
  }

  init(): RequestInit & { readonly duplex?: "half" } {
    if (Symbol.iterator in this.#values) return { body: [...this.#values].map(lineOf).join("") };
    return { body: this.#stream(this.#values), duplex: "half" };
  }

  rethrow(): void {
    if (this.#failure) throw this.#failure.error;
  }

  #stream(values: AsyncIterable<unknown>): ReadableStream<Uint8Array> {
    const iterator = values[Symbol.asyncIterator]();
    const encoder = new TextEncoder();
    return new ReadableStream({
      pull: async (controller) => {
        try {
          const { text, isLast } = await nextChunk(iterator);
          if (text !== "") controller.enqueue(encoder.encode(text));
          if (isLast) controller.close();
        } catch (error) {
          this.#failure = { error };
          controller.error(error);
        }
      },
      cancel: async () => {
        await iterator.return?.();
      },
    });
  }
}

async function nextChunk(iterator: AsyncIterator<unknown>): Promise<{ text: string; isLast: boolean }> {
  let text = "";
  while (text.length < chunkLetters) {
    const { value, done } = await iterator.next();
    if (done) return { text, isLast: true };
    text += lineOf(value);
  }
  return { text, isLast: false };
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
