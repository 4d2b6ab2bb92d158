import { describe, expect, it } from "vitest";
import { Tallyman } from "../src/app/index.ts";
import { setup } from "../src/testing/index.ts";
import { commandLine, flagsTo, places, runHere } from "./kit/cli.ts";
import { until } from "./kit/scheduler.ts";

interface Diagnosis {
  readonly findings: readonly { readonly check: string }[];
}

function finding({ findings }: Diagnosis, check: string) {
  return findings.find((found) => found.check === check);
}

describe.each(places)("the scheduler from the command line, by way of %s", (place) => {
  it("shows leader, workers and segments, drains, resizes, and tells the doctor", async () => {
    await using t = await setup();
    const { run, json } = commandLine(await flagsTo(place, t));
    const own = commandLine(["--database-url", t.url]);
    const nobody = await run("leader", "--json");
    expect({ code: nobody.code, ...JSON.parse(nobody.text) }).toEqual({
      code: 1,
      leader: null,
      coordinators: [],
    });

    const tallyman = t.use(await Tallyman.connect({ database: t.url }));
    const { fleet } = tallyman.scheduler;
    await fleet.register("worker-1", { heartbeatTimeoutMs: 600_000 });
    expect(finding(await own.json("doctor"), "scheduler leader")).toMatchObject({ status: "failure" });

    const coordinator = tallyman.scheduler.coordinator({ coordinatorId: "c1", port: 8082, joinDelayMs: 0 });
    await coordinator.start();
    await until("it leads", async () => coordinator.term !== undefined);
    await coordinator.assign("worker-1", 10);
    expect(await run("leader")).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^c1 leads in term 1, since .*LEADER/s),
    });
    expect((await json("workers")).workers).toMatchObject([{ workerId: "worker-1", cap: 10 }]);
    const { text: segments } = await run("segments");
    expect(segments).toContain("   0  A A A A A A A A A A\n  10  . . .");
    expect(segments).toContain("90 segments are covered by nobody's cap");
    const diagnosis = await own.json("doctor");
    expect(finding(diagnosis, "scheduler leader")).toMatchObject({ status: "ok" });
    expect(finding(diagnosis, "segments")).toMatchObject({
      status: "warning",
      message: "10 of 100 owned; nobody's cap covers 90 of them, and their jobs do not fire",
    });

    expect((await run("workers", "drain", "worker-1")).text).toContain("worker-1 is DRAINING");
    expect((await run("workers", "drain", "nobody")).code).toBe(3);
    expect(await run("segments", "resize", "256")).toMatchObject({ code: 0 });
    expect(await fleet.segmentCount()).toBe(256);
    expect(await run("segments", "resize", "2000")).toMatchObject({
      code: 2,
      errors: expect.stringContaining("from 1 to 1024"),
    });
    expect(await json("audit")).toMatchObject([
      { action: "segments.resize", changed: 256, target: { count: 256 } },
      { action: "worker.drain", changed: 1, target: { workerId: "worker-1" } },
    ]);
  });
});

it("prints the same documents from a database and from a server", async () => {
  await using t = await setup();
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  await tallyman.scheduler.fleet.register("worker-1", { heartbeatTimeoutMs: 600_000 });
  const coordinator = tallyman.scheduler.coordinator({
    coordinatorId: "c1",
    port: 8082,
    joinDelayMs: 0,
    // No heartbeat comes between two looks at the same document.
    heartbeatIntervalMs: 600_000,
    heartbeatTimeoutMs: 1_200_000,
  });
  await coordinator.start();
  await until("it leads", async () => coordinator.term !== undefined);
  await coordinator.assign("worker-1", 10);
  const batchId = await tallyman.commands.createBatch("orders", [{ commandType: "Ship", data: { n: 1 } }]);
  const [own, server] = await Promise.all(places.map(async (place) => commandLine(await flagsTo(place, t))));
  for (const args of [
    ["leader"],
    ["workers", "--all"],
    ["segments"],
    ["batch", "status", batchId],
    ["batch", "list", "--domain", "orders"],
    ["tsq", "list"],
    ["audit"],
  ]) {
    const document = await own?.json(...args);
    expect(document).toBeTruthy();
    expect(await server?.json(...args)).toEqual(document);
  }
});

it("says clearly why it does not listen", async () => {
  await using t = await setup();
  const args = ["coordinator", "--host", "0.0.0.0", "--port", "0", "--database-url", t.url];
  expect(await runHere(...args)).toMatchObject({
    code: 2,
    errors: expect.stringContaining("there are no access tokens"),
  });
});
