import { describe, expect, it } from "vitest";
import { Tallyman } from "../app/index.ts";
import { createServer, type HttpServerOptions } from "../server/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import { TallymanClient } from "./index.ts";

async function open(t: TestContext, options: Partial<HttpServerOptions> = {}) {
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const server = t.use(createServer(tallyman, { port: 0, ...options }));
  await server.start();
  return { tallyman, client: new TallymanClient({ url: server.url, timeoutMs: 50_000 }) };
}

async function* commands(count: number) {
  for (let n = 0; n < count; n++) yield { commandType: "Ship", data: { n, text: "x".repeat(100) } };
}

function importCommands(client: TallymanClient, count: number) {
  return client.call("POST /api/domains/:domain/batches/import", {
    params: { domain: "orders" },
    body: commands(count),
  });
}

describe("an import that comes bit by bit", () => {
  it("becomes one batch", async () => {
    await using t = await setup();
    const { client } = await open(t);
    const { batchId, totalCount } = await importCommands(client, 20_000);
    expect(totalCount).toBe(20_000);
    const batch = await client.call("GET /api/batches/:batchId", { params: { batchId } });
    expect(batch).toMatchObject({ totalCount: 20_000, status: "PENDING" });
  });

  it("that is too large is answered with its reason, though the server does not read it to its end", async () => {
    await using t = await setup();
    const { client } = await open(t, { importBytesMax: 200_000 });
    await expect(importCommands(client, 50_000)).rejects.toMatchObject({
      status: 413,
      code: "REQUEST_TOO_LARGE",
    });
    expect((await client.call("GET /api/batches")).items).toEqual([]);
  });
});
