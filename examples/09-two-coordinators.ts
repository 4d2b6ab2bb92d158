/*
 * Two coordinators: one leads, the other stands by. The leader stops, the other takes over at once, and every segment
 * stays owned.
 *
 *   node --import tsx examples/09-two-coordinators.ts
 */
import { configureLogging, Tallyman } from "../src/index.ts";

configureLogging({ level: "warn" });
await using tallyman = await Tallyman.embedded();
const { scheduler } = tallyman;

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
}
const owned = async () =>
  (await scheduler.fleet.segmentMap()).filter(({ workerId }) => workerId !== null).length;

await using first = scheduler.coordinator({ coordinatorId: "first", port: 8082, joinDelayMs: 0 });
await first.start();
await until(() => first.term !== undefined);
await using second = scheduler.coordinator({ coordinatorId: "second", port: 8092, joinDelayMs: 0 });
await second.start();
await using worker = scheduler.worker({ heartbeatIntervalMs: 200 });
await worker.start();
await until(async () => (await owned()) === 100);

const before = await scheduler.coordinators.leader();
await first.stop();
await until(() => second.term !== undefined);
const after = await scheduler.coordinators.leader();
console.log(
  `${before.coordinatorId} led, now ${after.coordinatorId}; epoch ${after.epoch > before.epoch ? "rose" : "stayed"}`,
);
console.log(`${await owned()} of 100 segments owned`);
