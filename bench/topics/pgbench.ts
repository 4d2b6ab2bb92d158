/** The same statements through pgbench: what the server and a C client can do. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Executor, Transaction } from "../../src/database/index.ts";
import { claim } from "../../src/topics/sql/claim.ts";
import { publish } from "../../src/topics/sql/publish.ts";
import { acknowledge } from "../../src/topics/sql/settle.ts";
import { lockGroupsShared } from "../../src/topics/sql/topic.ts";
import { batchSize, payloadBytes } from "./load.ts";

const programs = ["/usr/lib/postgresql/15/bin/pgbench", "/usr/bin/pgbench"];
const claimTimeoutMs = 300_000;

/** The installed pgbench; undefined when there is none. */
export const pgbenchProgram = programs.find((program) => existsSync(program));

export interface Target {
  readonly url: string;
  readonly topicId: number;
  readonly groupId: number;
}

/** The text that a statement function sends. */
async function textOf(run: (executor: Transaction) => Promise<unknown>): Promise<string> {
  let sent = "";
  const recorder: Executor = {
    query: async (text) => {
      sent = text;
      return { rows: [], rowCount: 0 };
    },
  };
  await run(recorder as Transaction);
  return sent;
}

/** Puts SQL in place of $1, $2, … */
function withValues(text: string, values: readonly string[]): string {
  const filled = text.replaceAll(/\$(\d+)/g, (_, number: string) => `(${values[Number(number) - 1]})`);
  return filled.replaceAll(/\s+/g, " ").trim();
}

async function publishScript({ topicId }: Target): Promise<string> {
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

async function consumeScript({ topicId, groupId }: Target): Promise<string> {
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

/** Messages per second that pgbench gets through, in the extended protocol as our driver uses it. */
export async function pgbenchRate(
  what: "publish" | "consume",
  target: Target,
  { clients, seconds }: { clients: number; seconds: number },
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "tallyman-pgbench-"));
  try {
    const script = join(folder, "script.sql");
    await writeFile(script, await (what === "publish" ? publishScript : consumeScript)(target));
    const args = ["-n", "-M", "extended", "-f", script, "-c", `${clients}`, "-j", "2", "-T", `${seconds}`];
    const url = new URL(target.url);
    const env = { ...process.env, PGPASSWORD: decodeURIComponent(url.password) };
    url.password = "";
    const { stdout } = await promisify(execFile)(pgbenchProgram ?? "pgbench", [...args, url.toString()], {
      env,
    });
    const tps = Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
    return tps * batchSize;
  } finally {
    await rm(folder, { recursive: true });
  }
}
