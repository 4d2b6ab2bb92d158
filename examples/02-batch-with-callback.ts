/*
 * A batch of commands that are done when all are done: a callback in this process, and a command that is sent by the
 * very transaction that completes the batch, whatever becomes of this process.
 *
 *   node --import tsx examples/02-batch-with-callback.ts
 */
import { configureLogging, Tallyman } from "../src/index.ts";

configureLogging({ level: "warn" });
await using tallyman = await Tallyman.embedded();
const bus = tallyman.commands;
const domain = "statements";

let mailed: (customers: number) => void = () => undefined;
const whenMailed = new Promise<number>((resolve) => {
  mailed = resolve;
});
await using worker = bus.worker({
  domain,
  handlers: {
    PrintStatement: () => undefined,
    MailAll: ({ data }) => mailed((data as { batch: { completedCount: number } }).batch.completedCount),
  },
});
await worker.start();

const customers = Array.from({ length: 1_000 }, (_, customer) => ({
  commandType: "PrintStatement",
  data: { customer },
}));
await bus.createBatch(domain, customers, {
  name: "Statements of November",
  onComplete: ({ status, completedCount }) => console.log("callback:", status, completedCount),
  completion: { commandType: "MailAll" },
});
console.log("mailed after", await whenMailed);
