import { readdirSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { examineFile } from "./batch-file.ts";
import { readEvidence } from "./evidence.ts";
import type {
  CommandFacts,
  Facts,
  GapRow,
  JobFacts,
  LedgerRow,
  RunFacts,
  SchedulerFacts,
  StoredFile,
} from "./facts.ts";
import { countsOf, rowsOf } from "./reader.ts";

/** What a chaos run was about, as far as the judge must be told. */
export interface Case {
  readonly folder: string;
  readonly hasCommands: boolean;
  readonly hasScheduler: boolean;
  readonly runs: readonly Pick<
    RunFacts,
    "runId" | "samplingInterval" | "lastTick" | "keylessClass" | "keyedClass"
  >[];
}

/** Looks at everything: logs, tables and files; at all tables as of one moment, for some may still be changing. */
export async function loadFacts(client: pg.Client, about: Case): Promise<Facts> {
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  const runs: RunFacts[] = [];
  for (const run of about.runs) runs.push(await loadRun(client, about.folder, run));
  return {
    evidence: readEvidence(about.folder),
    commands: about.hasCommands || about.hasScheduler ? await loadCommands(client) : undefined,
    scheduler: about.hasScheduler ? await loadScheduler(client) : undefined,
    runs,
  };
}

async function loadCommands(client: pg.Client): Promise<CommandFacts> {
  const byCommand = (table: string) =>
    countsOf(client, `SELECT command_id AS key, count(*) FROM ${table} GROUP BY command_id`);
  return {
    ...(await loadPlaces(client)),
    ...(await loadAudit(client)),
    commands: await rowsOf(
      client,
      `SELECT id, domain, command_id AS "commandId", command_type AS type, status, batch_id AS "batchId",
              data #>> '{fire,jobKey}' AS "jobKey", data #>> '{fire,fireTime}' AS "fireTime"
       FROM tallyman.command_bus_command`,
    ),
    batches: await rowsOf(
      client,
      `SELECT batch_id AS "batchId", status, total_count AS total, completed_count AS completed, failed_count AS failed,
              canceled_count AS canceled, in_troubleshooting_count AS troubled, completed_at IS NOT NULL AS "isComplete",
              completion ->> 'command_id' AS "completionId"
       FROM tallyman.command_bus_batch`,
    ),
    effects: await byCommand("chaos.effect"),
    attempts: await byCommand("chaos.attempt"),
    replies: await byCommand("tallyman.command_bus_reply"),
  };
}

/** Where unfinished commands are. */
async function loadPlaces(client: pg.Client): Promise<Pick<CommandFacts, "queued" | "leased">> {
  const byRow = async (text: string) =>
    new Map([...(await countsOf(client, text))].map(([key, count]) => [Number(key), count]));
  return {
    queued: await byRow(
      "SELECT r::text AS key, count(*) FROM tallyman.command_bus_queue, unnest(command_rows) r GROUP BY r",
    ),
    leased: await byRow(
      `SELECT h.id::text AS key, count(*)
       FROM tallyman.command_bus_lease l, unnest(l.command_rows, l.deliveries) AS h (id, delivery)
       JOIN tallyman.command_bus_command c USING (id, delivery) GROUP BY h.id`,
    ),
  };
}

async function loadAudit(client: pg.Client): Promise<Pick<CommandFacts, "completions" | "operated">> {
  return {
    completions: await countsOf(
      client,
      `SELECT batch_id AS key, count(*) FROM tallyman.command_bus_audit_group
       WHERE event_type = 'BATCH_COMPLETED' GROUP BY batch_id`,
    ),
    operated: await rowsOf(
      client,
      `SELECT details ->> 'operator' AS operator, c AS "commandId", event_type AS event
       FROM tallyman.command_bus_audit_group, unnest(command_ids) c WHERE details ? 'operator'`,
    ),
  };
}

async function loadScheduler(client: pg.Client): Promise<SchedulerFacts> {
  return {
    jobs: await rowsOf<JobFacts>(
      client,
      `SELECT j.job_key AS key, round(date_part('epoch', j.start_at) * 1000) AS "startMs",
              date_part('epoch', j.created_at) * 1000 AS "createdMs", s.next_fire_at IS NULL AS "isOver",
              (SELECT coalesce(json_agg(json_build_object('ms', round(date_part('epoch', f.fire_time) * 1000),
                 'outcome', f.outcome, 'runId', f.run_id) ORDER BY f.fire_time), '[]')
               FROM tallyman.scheduler_fire f WHERE f.job_id = j.job_id) AS fires
       FROM tallyman.scheduler_job j JOIN tallyman.scheduler_job_state s USING (job_id)`,
    ),
    segments: await rowsOf(
      client,
      `SELECT segment_id AS "segmentId", s.status, coalesce(w.status = 'ONLINE', false) AS "isOwnerOnline"
       FROM tallyman.scheduler_segment s LEFT JOIN tallyman.scheduler_worker w USING (worker_id)`,
    ),
    leaseLog: await rowsOf(client, "SELECT epoch, holder, writer FROM judge.lease_log ORDER BY id"),
    segmentLog: await rowsOf(
      client,
      `SELECT segment_id AS "segmentId", old_epoch AS "oldEpoch", epoch, worker_id AS "workerId",
              leader_epoch AS "leaderEpoch", lease_epoch AS "leaseEpoch", writer
       FROM judge.segment_log ORDER BY id`,
    ),
  };
}

async function loadRun(client: pg.Client, folder: string, run: Case["runs"][number]): Promise<RunFacts> {
  const [registered] = await rowsOf<{ schema: string }>(
    client,
    "SELECT schema_name AS schema FROM tallyman.simulation_run WHERE run_id = $1",
    [run.runId],
  );
  const files = storedFiles(join(folder, "storage"), run.runId);
  const nothing = { ledger: [], gaps: [], known: [], undone: 0, seen: new Map(), keyed: new Set<number>() };
  const shared = { ...run, indexerClasses: [run.keylessClass, run.keyedClass], files };
  if (!registered) return { ...shared, ...nothing };
  return { ...shared, ...(await loadTables(client, registered.schema, run.runId)) };
}

async function loadTables(client: pg.Client, schema: string, runId: string) {
  const table = (name: string) => `"${schema}".${name}`;
  const known = await rowsOf<{ name: string }>(
    client,
    `SELECT batch_filename AS name FROM ${table("batch_files")}`,
  );
  return {
    ...(await loadTicks(client, table("environment_data"), runId)),
    known: known.map(({ name }) => name),
    undone: await loadUndone(client, runId),
    ledger: await rowsOf<LedgerRow>(
      client,
      `SELECT indexer_class AS "indexerClass", batch_filename AS filename, tick_start AS "tickStart", tick_end AS "tickEnd",
              status, resume_at AS "resumeAt", date_part('epoch', claimed_at) * 1000 AS "claimedMs"
       FROM ${table("coordinator_batches")}`,
    ),
    gaps: await rowsOf<GapRow>(
      client,
      `SELECT indexer_class AS "indexerClass", gap_start_tick AS start, gap_end_tick AS "end", status
       FROM ${table("coordinator_gaps")}`,
    ),
  };
}

/** What the two classes wrote. */
async function loadTicks(
  client: pg.Client,
  keyedTable: string,
  runId: string,
): Promise<Pick<RunFacts, "seen" | "keyed">> {
  const seen = await countsOf(
    client,
    "SELECT tick::text AS key, count(*) FROM chaos.seen WHERE run_id = $1 GROUP BY tick",
    [runId],
  );
  const keyed = await rowsOf<{ tick: number }>(
    client,
    `SELECT DISTINCT tick_number AS tick FROM ${keyedTable}`,
  );
  return {
    seen: new Map([...seen].map(([tick, count]) => [Number(tick), count])),
    keyed: new Set(keyed.map(({ tick }) => tick)),
  };
}

async function loadUndone(client: pg.Client, runId: string): Promise<number> {
  const [deliveries] = await rowsOf<{ undone: number }>(
    client,
    "SELECT count(*) AS undone FROM tallyman.topic_delivery WHERE run_id = $1",
    [runId],
  );
  return deliveries?.undone ?? 0;
}

/** Every batch file that can be seen under its own name, of those that are asked for. */
export function storedFiles(
  storage: string,
  runId: string,
  isAskedFor = (_key: string) => true,
): StoredFile[] {
  const folder = join(storage, runId, "raw");
  let names: string[] = [];
  try {
    names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  } catch {
    return []; // nothing is written yet
  }
  return names
    .filter((name) => /(^|\/)batch_\d+_\d+\.pb(\.(gz|br))?$/.test(name) && isAskedFor(`${runId}/raw/${name}`))
    .map((name) => ({
      key: `${runId}/raw/${name}`,
      filename: name.slice(name.lastIndexOf("/") + 1),
      verdict: examineFile(join(folder, name)),
    }));
}
