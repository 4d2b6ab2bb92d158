import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { BatchInfoSchema } from "../src/contracts/index.ts";
import { type Child, setup, type TestContext } from "../src/testing/index.ts";
import { PostgresTopics } from "../src/topics/index.ts";
import { plain, startChild } from "./kit/children.ts";
import { commandLine, flagsTo, runHere } from "./kit/cli.ts";

const cli = new URL("../src/cli/main.ts", import.meta.url);
const types = fileURLToPath(plain(new URL("./children/up-types.child.ts", import.meta.url)));

const resources = "resources: { out: 'topic-write:batch-topic', storage: 'storage-write:ticks' }";

/** A configuration file with these services, each with these options. */
async function writeConfig(t: TestContext, services: Record<string, string>): Promise<string> {
  const file = join(await t.temporaryFolder(), "pipeline.yaml");
  const lines = Object.entries(services).map(
    ([name, more]) => `  ${name}: { className: Holder, ${resources}${more && `, ${more}`} }`,
  );
  await writeFile(
    file,
    ["resources:", "  ticks: { className: FileSystemStorage }", "  batch-topic: { className: PostgresTopic }"]
      .concat("services:", lines, "")
      .join("\n"),
  );
  return file;
}

function up(t: TestContext, config: string, ...more: string[]): Child {
  const args = ["up", "--config", config, "--types", types, "--no-server", ...more];
  return t.use(startChild(cli, { args, env: { DATABASE_URL: t.url } }));
}

/** A command line beside the processes of `up`; this process is another one to them. */
function tallyman(t: TestContext, ...args: string[]) {
  return runHere(...args, "--database-url", t.url);
}

/** What was sent by final flushes. */
async function flushed(t: TestContext): Promise<string[]> {
  await using topics = new PostgresTopics(t.database);
  const reader = await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "test" });
  return (await reader.pollMany(100, 0)).map(({ payload }) => payload.storageKey).toSorted();
}

const time = /^\d\d:\d\d:\d\d {2}/;
const untimed = (lines: readonly string[]) => lines.map((line) => line.replace(time, ""));

describe("tallyman up", () => {
  it("runs until SIGTERM, one line per change, then drains with every final flush", async () => {
    await using t = await setup();
    const config = await writeConfig(t, { first: "", second: "" });
    const child = up(t, config, "--name", "alpha");
    await child.line("Running 3 services as alpha. Ctrl+C stops.");
    await readsRunning(child, "second");
    child.kill("SIGTERM");
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(untimed(child.lines.slice(1, 5))).toEqual([
      "topic-retention  RUNNING",
      "first            RUNNING",
      "second           RUNNING",
      "Draining. A second signal gives up.",
    ]);
    expect(untimed(child.lines.slice(5, -1)).toSorted()).toEqual([
      "first            STOPPED",
      "second           STOPPED",
      "topic-retention  STOPPED",
    ]);
    expect(child.lines.at(-1)).toBe("Stopped.");
    expect(await flushed(t)).toEqual(["first", "second"]);
    expect((await tallyman(t, "service", "list")).text).toBe(
      "No services run on this database. Start some with 'tallyman up'.",
    );
  });

  it("keeps the rest running beside a service that fails, and says what happens next", async () => {
    await using t = await setup();
    const config = await writeConfig(t, {
      bad: "options: { fails: true }, restart: { maxRestarts: 1, backoffMs: 10 }",
      good: "",
    });
    const child = up(t, config, "--json");
    await eventOf(
      child,
      ({ name, state, nextRestart }) => name === "bad" && state === "ERROR" && !nextRestart,
    );
    const states = events(child).filter(({ name }) => name === "bad");
    expect(states).toMatchObject([
      { event: "state", state: "RUNNING", previous: "STOPPED" },
      { state: "ERROR", error: "the sink is full", nextRestart: { attempt: 1, attemptsMax: 1, delayMs: 10 } },
      { state: "RUNNING", restarts: 1 },
      { state: "ERROR", error: "the sink is full" },
    ]);
    // A process says what has happened before it shows it to others.
    const finding = async () => {
      const { text } = await tallyman(t, "doctor", "--json");
      return JSON.parse(text).findings.find(({ check }: { check: string }) => check === "services");
    };
    await expect.poll(finding, { timeout: 30_000 }).toMatchObject({
      status: "failure",
      message: expect.stringMatching(
        /^2 of 3 services run, in 1 process; in ERROR: bad on .*: the sink is full$/,
      ),
    });
    child.kill("SIGINT");
    expect((await child.exit).code).toBe(0);
    expect(events(child).at(-1)).toMatchObject({ event: "stopped", notStopped: [] });
  });

  it("gives up at the second signal", async () => {
    await using t = await setup();
    const child = up(t, await writeConfig(t, { stubborn: "options: { hangs: true }" }));
    await readsRunning(child, "stubborn");
    child.kill("SIGTERM");
    await child.line("Draining.");
    child.kill("SIGTERM");
    expect(await child.exit).toEqual({ code: 143, signal: null });
  });

  it("names the service that did not stop in time, and ends all the same", async () => {
    await using t = await setup();
    const config = await writeConfig(t, { stubborn: "options: { hangs: true }", good: "" });
    const child = up(t, config, "--stop-timeout", "1");
    await readsRunning(child, "good");
    child.kill("SIGTERM");
    expect((await child.exit).code).toBe(143);
    expect(child.errorOutput).toContain("error: Not stopped in time: stubborn. [TIMED_OUT]");
    expect(await flushed(t)).toEqual(["good"]);
  });

  it("refuses a wrong configuration with file and line, before anything is started", async () => {
    await using t = await setup();
    const config = await writeConfig(t, { first: "" });
    const { code, errors } = await tallyman(t, "up", "--config", config);
    expect(code).toBe(2);
    expect(errors).toContain("pipeline.yaml:5: services.first.className: unknown service class 'Holder'.");
    const empty = await tallyman(t, "up", "--no-server", "--config", await writeConfig(t, {}));
    expect(empty).toMatchObject({
      code: 2,
      errors: expect.stringContaining("The configuration has no services."),
    });
  });
});

describe("tallyman service", () => {
  it("operates services of another process, and tells two processes apart", async () => {
    await using t = await setup();
    const config = await writeConfig(t, { first: "", spare: "autostart: false" });
    const alpha = up(t, config, "--name", "alpha");
    await readsRunning(alpha, "first");
    const beta = up(t, config, "--name", "beta");
    await readsRunning(beta, "first");

    const list = await tallyman(t, "service", "list");
    expect(list.text).toMatch(/^alpha \(process \d+ on .*\)\n {2}SERVICE +CLASS +STATE +FOR +RESTARTS/);
    expect(list.text).toMatch(
      /\n {2}first +Holder +RUNNING .*\n {2}spare +Holder +STOPPED .*\n\nbeta \(process/,
    );
    expect(await tallyman(t, "service", "stop", "first")).toMatchObject({
      code: 2,
      errors: expect.stringContaining("Name one with --manager: alpha, beta. [SERVICE_AMBIGUOUS]"),
    });

    const stopped = await tallyman(t, "service", "stop", "first", "--manager", "beta");
    expect(stopped).toMatchObject({ code: 0, text: "first on beta: STOPPED" });
    await reads(beta, "first", "STOPPED");
    expect(untimed(alpha.lines)).not.toContain("first            STOPPED");
    expect(await flushed(t)).toEqual(["first"]);

    const started = await tallyman(t, "service", "start", "first", "spare", "--manager", "beta", "--json");
    expect(JSON.parse(started.text)).toMatchObject({
      action: "start",
      services: [
        { service: "first", manager: "beta", state: "RUNNING" },
        { service: "spare", state: "RUNNING" },
      ],
    });
    for (const [action, text] of [
      ["pause", "spare on beta: PAUSED"],
      ["resume", "spare on beta: RUNNING"],
      ["restart", "spare on beta: RUNNING"],
    ] as const) {
      expect((await tallyman(t, "service", action, "spare", "--manager", "beta")).text).toBe(text);
    }
    expect(await tallyman(t, "service", "resume", "spare", "--manager", "beta")).toMatchObject({
      code: 1,
      errors: expect.stringContaining("Can't resume spare: it is RUNNING."),
    });
    expect(await tallyman(t, "service", "stop", "spar", "--manager", "beta")).toMatchObject({
      code: 3,
      errors: expect.stringContaining("Did you mean 'spare'?"),
    });
    const server = commandLine(await flagsTo("a server", t));
    expect((await server.json("service", "list")).managers).toMatchObject([
      { name: "alpha" },
      {
        name: "beta",
        services: expect.arrayContaining([expect.objectContaining({ name: "spare", state: "RUNNING" })]),
      },
    ]);
    const byServer = await server.run("service", "pause", "spare", "--manager", "beta");
    expect(byServer).toMatchObject({ code: 0, text: "spare on beta: PAUSED" });
    expect((await server.run("service", "pause", "spar", "--manager", "beta")).code).toBe(3);
    expect((await server.json("audit", "--limit", "1"))[0]).toMatchObject({
      action: "service.pause",
      target: { service: "spare", manager: "beta" },
    });
    for (const child of [alpha, beta]) child.kill("SIGTERM");
    expect([(await alpha.exit).code, (await beta.exit).code]).toEqual([0, 0]);
  });
});

interface UpEvent {
  readonly event: string;
  readonly name?: string;
  readonly state?: string;
  readonly nextRestart?: unknown;
}

function events(child: Child): UpEvent[] {
  return child.lines.map((line) => JSON.parse(line));
}

/** Waits for lines until one of them is the event that is looked for. */
async function eventOf(child: Child, matches: (event: UpEvent) => boolean): Promise<void> {
  await child.until(() => events(child).some(matches), "an event");
}

async function readsRunning(child: Child, service: string): Promise<void> {
  await reads(child, service, "RUNNING");
}

async function reads(child: Child, service: string, state: string): Promise<void> {
  const isMeant = new RegExp(`^${service} +${state}$`);
  await child.until(() => untimed(child.lines).some((line) => isMeant.test(line)), `${service} ${state}`);
}
