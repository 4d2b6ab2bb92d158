import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { Tallyman } from "../src/app/index.ts";
import { setup } from "../src/testing/index.ts";
import { until } from "./kit/scheduler.ts";

/** Each command is a process of its own, which takes its time on a machine under load. */
const timeoutMs = 300_000;
const main = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

function tallyman(url: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ["--import", "tsx", main, "--database-url", url, ...args], (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    );
  });
}

it(
  "shows leader, workers and segments, drains, resizes, and tells the doctor",
  async () => {
    await using t = await setup();
    const nobody = await tallyman(t.url, "leader", "--json");
    expect({ code: nobody.code, ...JSON.parse(nobody.out) }).toEqual({
      code: 1,
      leader: null,
      coordinators: [],
    });

    const own = t.use(await Tallyman.connect({ database: t.url }));
    const { fleet } = own.scheduler;
    await fleet.register("worker-1");
    const alone = JSON.parse((await tallyman(t.url, "doctor", "--json")).out);
    const finding = (diagnosis: { findings: { check: string }[] }, check: string) =>
      diagnosis.findings.find((found) => found.check === check);
    expect(finding(alone, "scheduler leader")).toMatchObject({ status: "failure" });

    const coordinator = own.scheduler.coordinator({ coordinatorId: "c1", port: 8082, joinDelayMs: 0 });
    await coordinator.start();
    await until("it leads", async () => coordinator.term !== undefined);
    await coordinator.assign("worker-1", 10);
    const [leader, workers, segments, doctor] = await Promise.all([
      tallyman(t.url, "leader"),
      tallyman(t.url, "workers", "--json"),
      tallyman(t.url, "segments"),
      tallyman(t.url, "doctor", "--json"),
    ]);
    expect(leader).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^c1 leads in term 1, since .*LEADER/s),
    });
    expect(JSON.parse(workers.out).workers).toMatchObject([{ workerId: "worker-1", cap: 10 }]);
    expect(segments.out).toContain("   0  A A A A A A A A A A\n  10  . . .");
    expect(segments.out).toContain("90 segments are covered by nobody's cap");
    const diagnosis = JSON.parse(doctor.out);
    expect(finding(diagnosis, "scheduler leader")).toMatchObject({ status: "ok" });
    expect(finding(diagnosis, "segments")).toMatchObject({
      status: "warning",
      message: "10 of 100 owned; nobody's cap covers 90 of them, and their jobs do not fire",
    });

    expect((await tallyman(t.url, "workers", "drain", "worker-1")).out).toContain("worker-1 is DRAINING");
    expect((await tallyman(t.url, "workers", "drain", "nobody")).code).toBe(3);
    expect(await tallyman(t.url, "segments", "resize", "256")).toMatchObject({ code: 0 });
    expect(await fleet.segmentCount()).toBe(256);
    expect(await tallyman(t.url, "segments", "resize", "2000")).toMatchObject({
      code: 2,
      err: expect.stringContaining("from 1 to 1024"),
    });
  },
  timeoutMs,
);

it(
  "says clearly why it does not listen",
  async () => {
    await using t = await setup();
    const open = await tallyman(t.url, "coordinator", "--host", "0.0.0.0", "--port", "0");
    expect(open).toMatchObject({ code: 2, err: expect.stringContaining("there are no access tokens") });
  },
  timeoutMs,
);
