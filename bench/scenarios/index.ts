/** All scenarios, in the order in which they run and are reported. */
import type { AnyScenario } from "../harness/scenario.ts";
import { claims } from "./claims.ts";
import { drain } from "./drain.ts";
import { enqueue } from "./enqueue.ts";
import { failoverKill, failoverLeader, failoverWorker } from "./failover.ts";
import { fires } from "./fires.ts";
import { growthBacklog, growthHistory } from "./growth.ts";
import { hotBatch } from "./hot-batch.ts";
import { indexing } from "./indexing.ts";
import { indexingDelay } from "./indexing-delay.ts";
import { listing } from "./listing.ts";
import { pickUp } from "./pick-up.ts";
import { pinned } from "./pinned.ts";
import { topicConsume, topicPublish } from "./topic.ts";

export const scenarios: readonly AnyScenario[] = [
  enqueue,
  drain,
  hotBatch,
  pickUp,
  growthBacklog,
  growthHistory,
  pinned,
  topicPublish,
  topicConsume,
  indexing,
  indexingDelay,
  claims,
  fires,
  failoverLeader,
  failoverWorker,
  failoverKill,
  listing,
];
