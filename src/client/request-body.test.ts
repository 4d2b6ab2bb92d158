import { expect, it } from "vitest";
import { NdjsonBody } from "./request-body.ts";

it("sends a list as one line per value", async () => {
  const { body } = new NdjsonBody([{ n: 1 }, { n: 2 }]).init();
  expect(await new Response(body).text()).toBe('{"n":1}\n{"n":2}\n');
});

it("takes values only as fast as they are read", async () => {
  let made = 0;
  async function* values() {
    for (; made < 1_000_000; made++) yield { text: "x".repeat(1_000) };
  }
  const { body } = new NdjsonBody(values()).init();
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const { value } = await reader.read();
  expect(value?.length).toBeGreaterThan(60_000);
  expect(made).toBeLessThan(1_000);
  await reader.cancel();
});

it("tells what the source of the values threw, also when the reader reports something else", async () => {
  async function* values() {
    yield { n: 1 };
    throw new RangeError("line 2 is wrong");
  }
  const sent = new NdjsonBody(values());
  await expect(new Response(sent.init().body).text()).rejects.toThrow();
  expect(() => sent.rethrow()).toThrow(new RangeError("line 2 is wrong"));
});
