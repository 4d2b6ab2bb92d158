/**
 * A coordinator or a scheduler worker (argv[3]) named argv[4] on the embedded database in the folder of argv[2],
 * with short leases, until it is killed or gets SIGTERM.
 */
import { Tallyman } from "../../src/app/index.ts";
import { configureLogging, runUntilSignal, type Service } from "../../src/runtime/index.ts";

const [, , folder = "", role = "", id = ""] = process.argv;
configureLogging({ level: "error" });
await using tallyman = await Tallyman.embedded({ folder, migrate: false });
const { scheduler } = tallyman;
const service: Service =
  role === "coordinator"
    ? scheduler.coordinator({
        coordinatorId: id,
        port: 1,
        leaseMs: 1_500,
        renewMs: 400,
        scanIntervalMs: 100,
        joinDelayMs: 50,
        revokeMs: 1_000,
      })
    : scheduler.worker({
        workerId: id,
        heartbeatIntervalMs: 200,
        heartbeatTimeoutMs: 1_500,
        pollIntervalMs: 200,
      });
service.onStateChange((state) => {
  if (state === "RUNNING") process.stdout.write("working\n");
  if (state === "ERROR") process.exit(1);
});
await runUntilSignal([service]);
