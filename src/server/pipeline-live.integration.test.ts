import { describe, expect, it } from "vitest";
import { openServer } from "../../tests/kit/api.ts";
import { openPipeline, runId } from "../../tests/kit/pipeline.ts";
import { createBatchCoordinator } from "../coordination/index.ts";
import { setup, type TestContext } from "../testing/index.ts";
import type { HttpServer } from "./index.ts";

/** A run with ticks 0 to 9 indexed, 10 to 19 searched for and 30 to 39 given up; and one dead letter. */
async function prepare(t: TestContext) {
  const pipeline = await openPipeline(t);
  await pipeline.writeMetadata(39);
  const coordinator = createBatchCoordinator(t.database);
  coordinator.setSimulationRun(runId);
  const ready = coordinator.setIndexerClass("Dummy");
  const file = (filename: string, tickStart: number) => ({
    filename,
    storageKey: filename,
    tickStart,
    tickEnd: tickStart + 9,
  });
  await ready.registerFiles([file("f0", 0), file("f2", 20)]);
  await ready.tryClaim("f0", 0, 9);
  await ready.markCompleted("f0");
  await ready.reconcileGaps({ samplingInterval: 1, declaredEnd: 39 });
  await ready.markGapPermanent(30);
  await pipeline.send(0, 1);
  const reader = await pipeline.reader("dummy", { runId });
  const message = await reader.poll(5_000);
  if (!message) throw new Error("an announcement must come");
  await reader.deadLetter(message, { error: "no such file", sourceService: "dummy" });
  return { ...pipeline, ready };
}

/** The data of the events of a topic, as they come. */
async function* watch(t: TestContext, { url }: HttpServer, topic: string): AsyncGenerator<unknown> {
  const ending = new AbortController();
  t.use({ [Symbol.asyncDispose]: async () => ending.abort() });
  const response = await fetch(`${url}/api/events?topics=${encodeURIComponent(topic)}`, {
    signal: ending.signal,
  });
  let text = "";
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const line = event.split("\n").find((each) => each.startsWith("data: "));
      if (line) yield JSON.parse(line.slice("data: ".length));
    }
  }
}

describe("the pipeline, live", () => {
  it("is in the overview: gaps and dead letters, and what needs attention", async () => {
    await using t = await setup();
    const { client } = await openServer(t);
    await prepare(t);
    expect(await client.call("GET /api/overview")).toMatchObject({
      pipeline: { deadLetters: 1, gapsPending: 1, gapsPermanent: 1 },
      attention: [
        { severity: "error", text: "1 permanent gap in the newest runs", link: "/pipeline?run=run-1" },
        { severity: "warning", text: "1 dead letter", link: "/pipeline" },
      ],
    });
  });

  it("tells of a run's ticks when they change", async () => {
    await using t = await setup();
    const { server } = await openServer(t);
    const { ready } = await prepare(t);
    const events = watch(t, server, `run:${runId}`);
    const next = async () => ((await events.next()).value as [{ counts: object; buckets: object[] }])[0];
    expect(await next()).toMatchObject({ counts: { indexed: 10, in_flight: 10 }, buckets: { length: 40 } });
    await ready.tryClaim("f2", 20, 29);
    await ready.markCompleted("f2");
    expect(await next()).toMatchObject({ counts: { indexed: 20, in_flight: 0 } });
  });

  it("tells of topics, jobs and services", async () => {
    await using t = await setup();
    const { server, client } = await openServer(t);
    const { topics } = await prepare(t);
    const events = watch(t, server, "topics");
    const paused = async () =>
      ((await events.next()).value as { groups: { isPaused: boolean }[] }[])[0]?.groups[0]?.isPaused;
    expect(await paused()).toBe(false);
    await topics.pauseGroup("batch-topic", "dummy");
    expect(await paused()).toBe(true);

    const jobs = watch(t, server, "jobs");
    expect((await jobs.next()).value).toMatchObject({ items: [] });
    await client.call("POST /api/jobs", {
      body: { key: "a", schedule: { everyMs: 60_000 }, command: { domain: "d", commandType: "T" } },
    });
    expect((await jobs.next()).value).toMatchObject({ items: [{ key: "a" }] });
    const services = watch(t, server, "services");
    expect((await services.next()).value).toEqual([]);
  });
});
