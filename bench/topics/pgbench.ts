/** The same statements through pgbench: what the server and a C client can do. */
import { claim } from "../../src/topics/sql/claim.ts";
import { publish } from "../../src/topics/sql/publish.ts";
import { acknowledge } from "../../src/topics/sql/settle.ts";
import { lockGroupsShared } from "../../src/topics/sql/topic.ts";
import { textOf, withValues } from "../harness/pgbench.ts";
import { batchSize, payloadBytes } from "./load.ts";

const claimTimeoutMs = 300_000;

/** A topic and a group of it. */
export interface Target {
  readonly topicId: number;
  readonly groupId: number;
}

/** Publishes {@link batchSize} messages. */
export async function publishScript({ topicId }: Target): Promise<string> {
  const lock = await textOf((tx) => lockGroupsShared(tx, topicId));
  const insert = await textOf((tx) => publish(tx, { topicId, runId: "", keys: [], payloads: [] }));
  const keys = `ARRAY(SELECT :turn::text || '/' || i FROM generate_series(1, ${batchSize}) i)`;
  const payloads = `decode(repeat('ab', ${payloadBytes * batchSize}), 'hex')`;
  const starts = `ARRAY(SELECT 1 + ${payloadBytes} * (i - 1) FROM generate_series(1, ${batchSize}) i)`;
  const lengths = `array_fill(${payloadBytes}, ARRAY[${batchSize}])`;
  return [
    "\\set turn random(1, 1000000000000)",
    "BEGIN;",
    `${withValues(lock, [String(topicId)])};`,
    `${withValues(insert, [String(topicId), "''", keys, payloads, starts, lengths])};`,
    "COMMIT;",
  ].join("\n");
}

/** Claims and acknowledges {@link batchSize} messages. */
export async function consumeScript({ topicId, groupId }: Target): Promise<string> {
  const input = { topicId, groupId, runId: "", max: batchSize, claimTimeoutMs, owner: "pgbench" };
  const claimText = await textOf((executor) => claim(executor, input));
  const ackText = await textOf((executor) =>
    acknowledge(executor, { groupId, messageIds: [], claimVersions: [] }),
  );
  const values = [
    String(groupId),
    "''",
    String(batchSize),
    String(claimTimeoutMs),
    "'pgbench'",
    String(topicId),
  ];
  return [
    `${aggregated(withValues(claimText, values))} \\gset`,
    `${withValues(ackText, [String(groupId), ":ids", ":versions"])};`,
  ].join("\n");
}

/** pgbench keeps one row in variables: the claimed ones as arrays, their payloads looked at and left behind. */
function aggregated(claimText: string): string {
  const at = claimText.lastIndexOf(") SELECT c.message_id");
  const result = claimText.slice(at + 1);
  return `${claimText.slice(0, at + 1)}, result AS (${result})
    SELECT coalesce(array_agg("messageId"), '{}') AS ids, coalesce(array_agg("claimVersion"), '{}') AS versions,
           sum(length(payload)) AS bytes
    FROM result WHERE "messageId" IS NOT NULL`.replaceAll(/\s+/g, " ");
}
