import { readdir } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { BatchInfoSchema, SimulationMetadataSchema } from "../src/contracts/index.ts";
import {
  createBatchCoordinator,
  findMetadata,
  MetadataReader,
  MetadataWriter,
} from "../src/coordination/index.ts";
import { ensureRunSchema, openRun } from "../src/database/index.ts";
import {
  BatchWriter,
  DummyIndexer,
  MetadataQueue,
  reindex,
  SimulationEngine,
  TickQueue,
} from "../src/pipeline/index.ts";
import { FileSystemStorage } from "../src/storage/index.ts";
import { setup, type TestContext } from "../src/testing/index.ts";
import { PostgresTopics } from "../src/topics/index.ts";
import { runHere } from "./kit/cli.ts";
import { hostileNames, hostileRunIds, oddNames } from "./kit/hostile-names.ts";
import { openServer } from "./kit/http.ts";
import { command, openJobs } from "./kit/jobs.ts";
import { configOf } from "./kit/services.ts";

interface Place {
  readonly t: TestContext;
  readonly storage: FileSystemStorage;
  readonly folder: string;
}

/** A storage in a folder of its own, inside one that must stay as it is. */
async function open(t: TestContext): Promise<Place> {
  const folder = await t.temporaryFolder();
  const storage = t.use(new FileSystemStorage({ rootDirectory: join(folder, "storage") }));
  await storage.writeBatch("good", 0, 0, [Buffer.from("x")]);
  return { t, storage, folder };
}

/** Nothing beside the storage's folder, no run in it but the good one, no schema for any run. */
async function expectUntouched({ t, storage, folder }: Place): Promise<void> {
  expect(await readdir(folder)).toEqual(["storage"]);
  expect(await readdir(join(folder, "storage"))).toEqual(expect.arrayContaining(["good"]));
  expect(await storage.listRunIds()).toEqual(["good"]);
  const { rows } = await t.database.query(
    "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'sim%' UNION ALL SELECT run_id FROM tallyman.simulation_run",
  );
  expect(rows).toEqual([]);
}

/** The code of what `work` throws, at once or later. */
async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return "no error";
  } catch (error) {
    return String((error as { code?: unknown }).code ?? error);
  }
}

describe("a hostile run id", () => {
  it("is refused by every part of the library, and leaves nothing", async () => {
    await using t = await setup();
    const place = await open(t);
    const { database } = t;
    const { storage } = place;
    const topics = t.use(new PostgresTopics(database));
    const writer = await topics.writer(BatchInfoSchema, { topic: "batch-topic" });
    const reader = await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "g" });
    const metadata = create(SimulationMetadataSchema);
    const queues = { queue: new TickQueue(), metadataQueue: new MetadataQueue() };
    const entrances: Record<string, (runId: string) => unknown> = {
      ensureRunSchema: (runId) => ensureRunSchema(database, runId),
      openRun: (runId) => openRun(database, runId),
      reindex: (runId) => reindex(database, topics, { runId, indexerClass: "X" }),
      writeBatch: (runId) => storage.writeBatch(runId, 0, 9, [Buffer.from("x")]),
      findLastBatchFile: (runId) => storage.findLastBatchFile(runId),
      "a topic's writer": (runId) => topics.writer(BatchInfoSchema, { topic: "batch-topic", runId }),
      "a topic's reader": (runId) =>
        topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "g", runId }),
      "writer.setSimulationRun": (runId) => writer.setSimulationRun(runId),
      "reader.setSimulationRun": (runId) => reader.setSimulationRun(runId),
      coordinator: (runId) => createBatchCoordinator(database).setSimulationRun(runId),
      "MetadataWriter.insertMetadata": (runId) =>
        new MetadataWriter(database).insertMetadata(runId, metadata),
      "MetadataWriter.createSimulationRun": (runId) =>
        new MetadataWriter(database).createSimulationRun(runId),
      "MetadataReader.getMetadata": (runId) => new MetadataReader(database).getMetadata(runId),
      findMetadata: (runId) => findMetadata(database, runId),
      BatchWriter: (runId) =>
        new BatchWriter<number>("w", { storage, topic: writer }, { runId, sequenceOf: (n) => n }),
      SimulationEngine: (runId) => new SimulationEngine("s", queues, { runId }),
      "an indexer": (runId) => new DummyIndexer("i", { storage, database, topic: reader }, { runId }),
    };
    for (const [entrance, enter] of Object.entries(entrances))
      for (const runId of hostileRunIds)
        expect({ entrance, runId, code: await codeOf(() => enter(runId)) }).toEqual({
          entrance,
          runId,
          code: "RUN_ID_INVALID",
        });
    await expectUntouched(place);
  });

  it("is refused by the command line", async () => {
    await using t = await setup();
    const place = await open(t);
    const database = ["--database-url", t.url];
    const entrances: Record<string, (runId: string) => string[]> = {
      "run inspect": (runId) => ["run", "inspect", ...database, "--", runId],
      "run reindex": (runId) => ["run", "reindex", "--indexer-class", "X", ...database, "--", runId],
      "run retry": (runId) => ["run", "retry", "--indexer-class", "X", ...database, "--", runId],
      gaps: (runId) => ["gaps", ...database, `--run=${runId}`],
    };
    for (const [entrance, line] of Object.entries(entrances))
      for (const runId of hostileRunIds) {
        const { code, errors } = await runHere(...line(runId));
        expect({ entrance, runId, code, errors }).toMatchObject({
          code: 2,
          errors: expect.stringMatching(/\[(RUN_ID_INVALID|REQUEST_INVALID)\]\n$/),
        });
      }
    await expectUntouched(place);
  });

  it("is refused over HTTP, whatever a client leaves unescaped", async () => {
    await using t = await setup();
    const place = await open(t);
    const { server } = await openServer(t);
    for (const runId of hostileRunIds.filter((id) => id !== "" && id.length < 1_000))
      for (const path of ["", "/ticks", "/gaps", "/environment?tick=0"]) {
        const escaped = encodeURIComponent(Buffer.from(runId).toString());
        for (const part of new Set([escaped, escaped.replaceAll(".", "%2E")])) {
          const status = await statusOf(server.port, `/api/runs/${part}${path}`);
          expect({ runId, path, part, status: [400, 404].includes(status) ? "refused" : status }).toEqual({
            runId,
            path,
            part,
            status: "refused",
          });
        }
      }
    await expectUntouched(place);
  });

  it("is refused in a configuration", () => {
    for (const runId of hostileRunIds) {
      const text = JSON.stringify({ runId });
      expect(() => configOf(text), runId).toThrowError(expect.objectContaining({ code: "CONFIG_INVALID" }));
    }
  });
});

describe("a hostile name", () => {
  it("of a job or domain is refused by library, command line and HTTP, and nothing is stored", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    const { server } = await openServer(t);
    const schedule = { everyMs: 60_000 };
    const post = async (path: string, body: object) => {
      const response = await fetch(`${server.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const { error } = (await response.json()) as { error?: { code: string } };
      throw Object.assign(new Error(path), { code: error?.code });
    };
    const line = async (...args: string[]) => {
      const { errors } = await runHere(...args);
      throw Object.assign(new Error(errors), { code: /\[(\w+)\]\n$/.exec(errors)?.[1] });
    };
    const database = ["--database-url", t.url];
    const entrances: Record<string, [work: (name: string) => unknown, codes: string[]]> = {
      "jobs.create": [(key) => jobs.create(key, { schedule, command }), ["JOB_INVALID"]],
      "jobs.createMany": [(key) => jobs.createMany([{ key, schedule, command }]), ["JOB_INVALID"]],
      "POST /api/jobs": [
        (key) => post("/api/jobs", { key, schedule, command }),
        ["JOB_INVALID", "REQUEST_INVALID"],
      ],
      "job add": [
        (key) => line("job", "add", "--every", "1m", "--type", "T", ...database, "--", key),
        ["JOB_INVALID", "REQUEST_INVALID"],
      ],
      send: [(domain) => bus.send(domain, "T", { data: {} }), ["COMMAND_INVALID"]],
      "a command type": [(type) => bus.send("d", type, { data: {} }), ["COMMAND_INVALID"]],
      "a reply queue": [(replyTo) => bus.send("d", "T", { data: {}, replyTo }), ["COMMAND_INVALID"]],
      createBatch: [
        (domain) => bus.createBatch(domain, [{ commandType: "T", data: {} }]),
        ["COMMAND_INVALID"],
      ],
      "a job's domain": [
        (domain) => jobs.create("k", { schedule, command: { ...command, domain } }),
        ["COMMAND_INVALID"],
      ],
      "tallyman send": [
        (domain) => line("send", "T", `--domain=${domain}`, ...database),
        ["COMMAND_INVALID", "REQUEST_INVALID"],
      ],
      worker: [(domain) => bus.worker({ domain, handlers: {} }), ["INVALID_OPTION"]],
      pauseDomain: [(domain) => bus.pauseDomain(domain, { operator: "mia" }), ["INVALID_OPTION"]],
    };
    for (const [entrance, [work, codes]] of Object.entries(entrances))
      for (const name of hostileNames) {
        const code = await codeOf(() => work(name));
        expect({ entrance, name, code: codes.includes(code) ? "refused" : code }).toEqual({
          entrance,
          name,
          code: "refused",
        });
      }
    const { rows } = await t.database.query(
      "SELECT (SELECT count(*) FROM tallyman.scheduler_job) AS jobs, (SELECT count(*) FROM tallyman.command_bus_command) AS commands, (SELECT count(*) FROM tallyman.command_bus_domain) AS domains",
    );
    expect(rows).toEqual([{ jobs: 0, commands: 0, domains: 0 }]);
  });

  it("that is only odd is stored as it is, and found again over HTTP", async () => {
    await using t = await setup();
    const { bus, jobs } = openJobs(t);
    const { client } = await openServer(t);
    for (const name of oddNames) {
      await jobs.create(name, { schedule: { everyMs: 60_000 }, command });
      expect(await client.call("GET /api/jobs/:key", { params: { key: name } })).toMatchObject({ key: name });
      await client.call("DELETE /api/jobs/:key", { params: { key: name } });
      expect(await jobs.get(name)).toBeNull();
      const commandId = await bus.send(name, "T", { data: {} });
      const found = client.call("GET /api/domains/:domain/commands/:commandId", {
        params: { domain: name, commandId },
      });
      expect(await found).toMatchObject({ domain: name });
    }
  });
});

/** The status of a request whose path goes out as it stands; `fetch` would take '..' out. */
function statusOf(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: "127.0.0.1", port, path }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    request.on("error", reject);
    request.end();
  });
}
