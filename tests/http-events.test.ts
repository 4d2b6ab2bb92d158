import { describe, expect, it } from "vitest";
import { setup } from "../src/testing/index.ts";
import { openServer } from "./kit/http.ts";

interface Received {
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}

/** Reads server-sent events from a server until it is told to end. */
async function* watch(
  url: string,
  topics: string,
  signal: AbortSignal,
  lastId?: string,
): AsyncGenerator<Received> {
  const headers = lastId === undefined ? {} : { "last-event-id": lastId };
  const response = await fetch(`${url}/api/events?topics=${topics}`, { headers, signal });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const parts = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1] ?? "";
      if (field("event") !== "")
        yield { id: field("id"), event: field("event"), data: JSON.parse(field("data")) };
    }
  }
}

async function next(events: AsyncGenerator<Received>): Promise<Received> {
  const { value } = await events.next();
  return value as Received;
}

describe("live events", () => {
  it("tell the present state first, then every change, and nothing that a client has already", async () => {
    await using t = await setup();
    const { server, client, tallyman } = await openServer(t);
    const { batchId } = await client.call("POST /api/domains/:domain/batches", {
      params: { domain: "orders" },
      body: { commands: [{ commandType: "Ship", data: { secret: 1 } }] },
    });
    const ending = new AbortController();
    const events = watch(server.url, `batch:${batchId}`, ending.signal);
    const first = await next(events);
    expect(first).toMatchObject({ event: `batch:${batchId}`, data: { batchId, status: "PENDING" } });

    await tallyman.commands.cancelBatch("orders", batchId, { operator: "test" });
    let last = await next(events);
    while ((last.data as { status: string }).status === "PENDING") last = await next(events);
    expect(last.data).toMatchObject({ status: "COMPLETED_WITH_FAILURES" });
    expect(Number(last.id.split(":")[1])).toBeGreaterThan(Number(first.id.split(":")[1]));

    // Who has the last one hears nothing until something changes; who has an older one hears the last.
    const again = watch(server.url, `batch:${batchId}`, ending.signal, first.id);
    expect((await next(again)).data).toEqual(last.data);
    const upToDate = watch(server.url, `batch:${batchId},overview`, ending.signal, last.id);
    expect((await next(upToDate)).event).toBe("overview");
    ending.abort();
  });

  it("tell of an old batch that runs, and of what operators do", async () => {
    await using t = await setup();
    const { server, client, tallyman } = await openServer(t);
    const commands = [{ commandType: "Ship", data: {} }];
    const create = () => tallyman.commands.createBatch("orders", commands, { open: true });
    const old = await create();
    const worker = t.use(tallyman.commands.worker({ domain: "orders", handlers: { Ship: () => undefined } }));
    await worker.start();
    await expect.poll(async () => (await tallyman.commands.getBatch("orders", old))?.completedCount).toBe(1);
    for (let n = 0; n < 50; n++) await tallyman.commands.createBatch("later", commands);
    const ending = new AbortController();
    const running = watch(server.url, "running", ending.signal);
    const actions = watch(server.url, "actions", ending.signal);
    expect((await next(running)).data).toMatchObject({ items: [{ batchId: old }] });
    expect((await next(actions)).data).toMatchObject({ items: [] });
    await client.call("POST /api/batches/:batchId/seal", { params: { batchId: old } });
    let left = await next(running);
    while ((left.data as { items: object[] }).items.length > 0) left = await next(running);
    expect((await next(actions)).data).toMatchObject({ items: [{ action: "batch.seal" }] });
    ending.abort();
  });

  it("are refused for topics that are none", async () => {
    await using t = await setup();
    const { server } = await openServer(t);
    const tooMany = Array.from({ length: 30 }, (_, i) => `batch:${i}`).join(",");
    for (const topics of ["nothing", "batch", "overview:x", "__proto__", tooMany]) {
      const response = await fetch(`${server.url}/api/events?topics=${topics}`);
      expect(response.status, topics).toBe(400);
      expect(await response.json()).toMatchObject({ error: { details: { field: "topics" } } });
    }
  });
});
