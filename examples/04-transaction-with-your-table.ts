/*
 * Exactly once with a table of yours, on both sides: an order and its command commit together or not at all, and so
 * do the handler's row and the command's completion.
 *
 *   node --import tsx examples/04-transaction-with-your-table.ts
 */
import { configureLogging, Tallyman } from "../src/index.ts";

configureLogging({ level: "warn" });
await using tallyman = await Tallyman.embedded();
const { database, commands: bus } = tallyman;
await database.query("DROP TABLE IF EXISTS shop_order, shop_invoice");
await database.query("CREATE TABLE shop_order (order_id int PRIMARY KEY)");
await database.query("CREATE TABLE shop_invoice (order_id int NOT NULL)");

// The sender: any client inside a transaction of yours will do for `tx`; here it is Tallyman's own.
async function placeOrder(orderId: number): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query("INSERT INTO shop_order VALUES ($1)", [orderId]);
    await bus.send("shop", "WriteInvoice", { data: { orderId } }, { tx });
    if (orderId === 3) throw new Error("the customer left");
  });
}
for (const orderId of [1, 2, 3])
  await placeOrder(orderId).catch(({ message }: Error) => console.log(message));

// The worker: the invoice has no key, so that one written twice would show.
await using worker = bus.worker({
  domain: "shop",
  handlers: {
    WriteInvoice: ({ data }, context) =>
      context.transaction((tx) =>
        tx.query("INSERT INTO shop_invoice VALUES ($1)", [(data as { orderId: number }).orderId]),
      ),
  },
});
await worker.start();
for (;;) {
  const { ready, inProgress } = await bus.stats();
  if (ready + inProgress === 0) break;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
await worker.stop();
const { rows } = await database.query(
  "SELECT (SELECT count(*)::int FROM shop_order) AS orders, (SELECT count(*)::int FROM shop_invoice) AS invoices",
);
console.log(rows[0]);
