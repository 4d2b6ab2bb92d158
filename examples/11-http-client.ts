/*
 * The HTTP API with its typed client: create a batch, watch it, look at what operators did. The server runs in this
 * process; `tallyman up` serves the same.
 *
 *   node --import tsx examples/11-http-client.ts
 */
import { TallymanClient } from "../src/client/index.ts";
import { configureLogging, createServer, Tallyman } from "../src/index.ts";

configureLogging({ level: "warn" });
await using tallyman = await Tallyman.embedded();
await using server = createServer(tallyman, { port: 0 });
await server.start();
await using worker = tallyman.commands.worker({ domain: "orders", handlers: { Ship: () => "shipped" } });
await worker.start();

const client = new TallymanClient({ url: server.url });
const { batchId } = await client.call("POST /api/domains/:domain/batches", {
  params: { domain: "orders" },
  body: {
    name: "Evening run",
    commands: [1, 2, 3].map((order) => ({ commandType: "Ship", data: { order } })),
  },
  idempotencyKey: `evening-${Date.now()}`,
});
for (;;) {
  const { status, completedCount, totalCount } = await client.call("GET /api/batches/:batchId", {
    params: { batchId },
  });
  if (status === "COMPLETED") {
    console.log(`${completedCount} of ${totalCount} ${status}`);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const { items } = await client.call("GET /api/actions", { query: { action: "batch.create", limit: 1 } });
console.log(`${items[0]?.actor}: ${items[0]?.action}, ${items[0]?.changed} commands`);
