import { setTimeout as sleep } from "node:timers/promises";
import { between, type Fault } from "./fault.ts";

const downMs = { lowMs: 200, highMs: 2_500 };

/** NATS dies and comes back with what it had on its disk. */
export const natsKilled: Fault = {
  name: "nats-killed",
  targets: ["nats"],
  lastsMs: downMs.highMs + 3_000,
  weight: 4,
  inject: async (stage, { random }) => {
    if (!stage.nats) return { skipped: "topics are in PostgreSQL" };
    await stage.nats.kill();
    await sleep(between(downMs.lowMs, downMs.highMs, random));
    await stage.nats.run();
    return "done";
  },
};
