/*
 * Some commands of a batch fail for good. They wait in the troubleshooting queue, grouped by their error, until
 * somebody has repaired the cause; then they are tried again and the batch completes.
 *
 *   node --import tsx examples/03-repair-in-troubleshooting.ts
 */
import { configureLogging, PermanentError, Tallyman } from "../src/index.ts";

configureLogging({ level: "error" });
await using tallyman = await Tallyman.embedded();
const bus = tallyman.commands;
const domain = "payments";

let isGatewayUp = false;
const pay = ({ data }: { data: unknown }) => {
  const { order } = data as { order: number };
  if (order % 10 === 0 && !isGatewayUp)
    throw new PermanentError(`order ${order}: the gateway refuses our key`);
};
await using worker = bus.worker({ domain, handlers: { Pay: pay } });
await worker.start();

const orders = Array.from({ length: 100 }, (_, order) => ({ commandType: "Pay", data: { order } }));
const batchId = await bus.createBatch(domain, orders, { name: "Payout" });
for await (const { completedCount, inTroubleshootingCount } of bus.watchBatch(domain, batchId))
  if (completedCount + inTroubleshootingCount === orders.length) break;

for (const { count, errorSignature } of await bus.tsq.groups({ batchId }))
  console.log(`${count} × ${errorSignature}`);
isGatewayUp = true;
const retried = await bus.tsq.retry({ matching: { batchId } }, { operator: "mia", reason: "new key" });
const { status, completedCount } = await bus.waitForBatch(domain, batchId);
console.log(`${retried} retried, ${status} with ${completedCount} of ${orders.length}`);
