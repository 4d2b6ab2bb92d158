/** Campaigns for leadership; its short lease makes every pause of it matter. */
import { clock, openTallyman, serve, settings } from "./child-kit.ts";

const tallyman = await openTallyman();
const coordinator = tallyman.scheduler.coordinator({
  coordinatorId: settings.slot,
  port: 1,
  leaseMs: 1_500,
  renewMs: 400,
  scanIntervalMs: 150,
  joinDelayMs: 50,
  revokeMs: 1_000,
  clock,
});
await serve([coordinator]);
