import { connect } from "@nats-io/transport-node";
import type pg from "pg";
import { names, type RunPlan } from "../fleet/plan.ts";
import type { Stage } from "../fleet/stage.ts";
import { pick } from "../random.ts";
import { withClient } from "./client.ts";
import type { Fault, FaultOutcome } from "./fault.ts";

/** Bytes that are no message, and messages that say nothing. */
const payloads: readonly Buffer[] = [
  Buffer.from('{"storageKey": "chaos-a/raw'),
  Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x41]),
  Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
  Buffer.alloc(100_000, 0x0b),
  Buffer.alloc(0),
];

/** Somebody else writes to our topics, without our library: what comes from there can be anything. */
export function malformedMessages(runs: readonly RunPlan[]): Fault {
  return {
    name: "message-malformed",
    targets: [names.batchTopic, names.metadataTopic],
    lastsMs: 500,
    weight: 3,
    inject: async (stage, { target: topic, random }) => {
      const { runId } = pick(runs, random);
      return stage.nats ? publishAll(stage.nats.url, topic, runId) : insertAll(stage, topic, runId);
    },
  };
}

async function publishAll(servers: string, topic: string, runId: string): Promise<FaultOutcome> {
  try {
    const connection = await connect({ servers, reconnect: false });
    for (const payload of payloads) connection.publish(`tallyman.topic.${topic}.${runId}`, payload);
    await connection.drain();
    return "done";
  } catch {
    return "missed"; // NATS is down
  }
}

function insertAll(stage: Stage, topic: string, runId: string): Promise<FaultOutcome> {
  return withClient(stage, async (client: pg.Client) => {
    const { rowCount } = await client.query(
      `WITH message AS (
         INSERT INTO tallyman.topic_message (topic_id, run_id, payload)
         SELECT topic_id, $2, payload FROM tallyman.topic, unnest($3::bytea[]) AS payload WHERE name = $1
         RETURNING topic_id, message_id)
       INSERT INTO tallyman.topic_delivery (group_id, message_id, run_id)
       SELECT group_id, message_id, $2 FROM message JOIN tallyman.topic_group USING (topic_id)`,
      [topic, runId, payloads],
    );
    return rowCount ? "done" : "missed";
  });
}
