/**
 * A little of everything, on a database of its own: a batch of commands, a job, the HTTP API, and a run that an
 * indexer turns into a table. Prints "done" with the version of Node that it ran on; run it with any.
 */
import { Tallyman } from "../../src/app/index.ts";
import { TallymanClient } from "../../src/client/index.ts";
import { EnvironmentIndexer } from "../../src/pipeline/index.ts";
import { Coordinator, SchedulerWorker } from "../../src/scheduler/index.ts";
import { createServer } from "../../src/server/index.ts";
import { setup, type TestContext } from "../../src/testing/index.ts";
import { ledger, openPipeline, quick, started, until } from "../kit/pipeline.ts";

async function useCommands(t: TestContext, { commands, scheduler, database }: Tallyman): Promise<void> {
  const worker = t.use(commands.worker({ domain: "d", handlers: { T: ({ data }) => data } }));
  await worker.start();
  const batch = Array.from({ length: 50 }, (_, n) => ({ commandType: "T", data: { n } }));
  const { status } = await commands.waitForBatch("d", await commands.createBatch("d", batch));
  if (status !== "COMPLETED") throw new Error(`The batch is ${status}.`);
  const options = { coordinatorId: "c", port: 1, joinDelayMs: 0, scanIntervalMs: 50 };
  await t.use(new Coordinator(database, options)).start();
  await t.use(new SchedulerWorker(database, commands, { heartbeatIntervalMs: 100 })).start();
  const command = { domain: "d", commandType: "T", data: {} };
  await scheduler.jobs.create("once", { schedule: { at: new Date() }, command });
  await until("the job has fired", async () => (await scheduler.jobs.get("once"))?.fireCount === 1);
}

async function useHttp(t: TestContext, tallyman: Tallyman): Promise<void> {
  const server = t.use(createServer(tallyman, { port: 0 }));
  await server.start();
  const { items } = await new TallymanClient({ url: server.url }).call("GET /api/batches");
  if (items.length !== 1) throw new Error(`The API shows ${items.length} batches.`);
}

async function usePipeline(t: TestContext): Promise<void> {
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata(29);
  for (const start of [0, 10, 20]) await pipeline.send(start, 10);
  await started(t, new EnvironmentIndexer("env", await pipeline.resources("env"), quick));
  const isDone = (states: string[]) => states.filter((state) => state === "completed 10").length === 3;
  await until("all is indexed", async () => isDone(Object.values(await ledger(t, "EnvironmentIndexer"))));
}

await using t = await setup();
const tallyman = t.use(await Tallyman.connect({ database: t.url }));
await useCommands(t, tallyman);
await useHttp(t, tallyman);
await usePipeline(t);
process.stdout.write(`done on Node ${process.versions.node}\n`);
