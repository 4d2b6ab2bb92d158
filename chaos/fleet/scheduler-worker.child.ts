/** Fires the due jobs of its segments. */
import { clock, openTallyman, serve, settings } from "./child-kit.ts";

const tallyman = await openTallyman();
const worker = tallyman.scheduler.worker({
  workerId: settings.slot,
  heartbeatIntervalMs: 250,
  heartbeatTimeoutMs: 1_500,
  pollIntervalMs: 250,
  clock,
});
await serve([worker]);
