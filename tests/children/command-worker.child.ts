/**
 * Works on domain "d" of the embedded database in the folder of argv[2] until it is killed or gets SIGTERM.
 * Each command leaves one row in `effect`, written in the transaction that completes it.
 */
import { Tallyman } from "../../src/app/index.ts";
import { configureLogging, sleep } from "../../src/runtime/index.ts";

configureLogging({ level: "error" });
await using tallyman = await Tallyman.embedded({ folder: process.argv[2] ?? "", migrate: false });
await using worker = tallyman.commands.worker({
  domain: "d",
  concurrency: 8,
  leaseMs: 1_500,
  pollIntervalMs: 200,
  maintenanceIntervalMs: 300,
  backoffMs: [100],
  lostLeasesMax: 1_000_000,
  handlers: {
    Effect: async ({ commandId }, context) => {
      await sleep(Math.random() * 4);
      return context.transaction((tx) =>
        tx.query("INSERT INTO effect VALUES ($1)", [commandId]).then(() => "done"),
      );
    },
    Plain: () => sleep(Math.random() * 2),
  },
});
await worker.start();
process.stdout.write("working\n");
await new Promise<void>((resolve) => {
  const keepAlive = setInterval(() => undefined, 60_000);
  process.once("SIGTERM", () => {
    clearInterval(keepAlive);
    resolve();
  });
});
