import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setImmediate as settle } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeClock, LogCapture } from "../testing/index.ts";
import { deferred, runUntilSignal, Service, type ShutdownOptions, sleep } from "./index.ts";

const events: string[] = [];

class Probe extends Service {
  starting: (signal: AbortSignal) => Promise<void> = async () => {};
  stopping: () => Promise<void> = async () => {};

  protected override async onStart(signal: AbortSignal): Promise<void> {
    events.push(`start ${this.name}`);
    await this.starting(signal);
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    await sleep(600_000, signal);
  }

  protected override async onStop(): Promise<void> {
    events.push(`stop ${this.name}`);
    await this.stopping();
    events.push(`stopped ${this.name}`);
  }
}

let logs: LogCapture;

beforeEach(() => {
  events.length = 0;
  logs = new LogCapture();
});

afterEach(() => {
  expect(process.listenerCount("SIGUSR2")).toBe(0);
  logs[Symbol.dispose]();
  logs.verify();
});

const services = () => [new Probe("a"), new Probe("b"), new Probe("c")] as const;

/** Signals that neither the test runner nor Node listens to; emitted, not sent. */
function run(given: readonly Service[], options: Partial<ShutdownOptions> = {}): Promise<void> {
  return runUntilSignal(given, { signals: ["SIGUSR2"], ...options });
}

/** Resolves when the last of the services runs and its start() has returned. */
async function running(given: readonly Service[]): Promise<void> {
  const last = given.at(-1);
  const reached = deferred();
  last?.onStateChange((state) => state === "RUNNING" && reached.resolve());
  await reached.promise;
  await settle();
}

const signal = () => process.emit("SIGUSR2", "SIGUSR2");

describe("runUntilSignal", () => {
  it("starts in order, stops in reverse order, and says which signal it was", async () => {
    const all = services();
    const ended = run(all);
    await running(all);
    signal();
    await ended;
    expect(events).toEqual([
      ...["start a", "start b", "start c"],
      ...["stop c", "stopped c", "stop b", "stopped b", "stop a", "stopped a"],
    ]);
    expect(logs.records).toContainEqual(
      expect.objectContaining({ message: "SIGUSR2 received: draining. A second signal exits at once." }),
    );
  });

  it("stops all at once when asked to", async () => {
    const all = services();
    const ended = run(all, { stopOrder: "parallel" });
    await running(all);
    signal();
    await ended;
    expect(events.slice(3, 6)).toEqual(["stop a", "stop b", "stop c"]);
  });

  it("ends with the AbortSignal as with a signal of the system", async () => {
    const all = services();
    const controller = new AbortController();
    const ended = run(all, { signal: controller.signal });
    await running(all);
    controller.abort();
    await ended;
    expect(all.map(({ state }) => state)).toEqual(["STOPPED", "STOPPED", "STOPPED"]);
    events.length = 0;
    await run(all, { signal: controller.signal });
    expect(events).toEqual([]);
  });

  it("exits at once on the second signal", async () => {
    const service = new Probe("slow");
    const drained = deferred();
    const draining = deferred();
    service.stopping = () => {
      draining.resolve();
      return drained.promise;
    };
    const exit = vi.fn();
    const ended = run([service], { exit });
    await running([service]);
    signal();
    await draining.promise;
    expect(exit).not.toHaveBeenCalled();
    signal();
    expect(exit).toHaveBeenCalledExactlyOnceWith(128 + 12);
    drained.resolve();
    await ended;
  });

  it("gives up at the deadline, naming who did not stop", async () => {
    const message = "The drain did not finish within 5000 ms; not stopped: a, b.";
    logs.expectLog({ logger: "shutdown", level: "error", message });
    const all = services();
    const clock = new FakeClock();
    const stuck = deferred();
    all[1].stopping = () => stuck.promise;
    const ended = run(all, { drainMs: 5_000, clock });
    const refused = expect(ended).rejects.toMatchObject({
      code: "TIMED_OUT",
      message,
      details: { services: ["a", "b"], drainMs: 5_000 },
    });
    await running(all);
    signal();
    await clock.advance(5_000);
    await refused;
    stuck.resolve();
    await Promise.all(all.map((service) => service.stop()));
  });

  it("drains what was started when a service does not start, and throws its error", async () => {
    const all = services();
    const boom = new Error("no database");
    all[1].starting = async () => Promise.reject(boom);
    await expect(run(all)).rejects.toBe(boom);
    expect(events).toEqual([...["start a", "start b", "stop b", "stopped b"], ...["stop a", "stopped a"]]);
  });

  it("interrupts a start on the first signal, and starts none of the rest", async () => {
    const all = services();
    const starting = deferred();
    all[1].starting = (signal) => {
      starting.resolve();
      return sleep(600_000, signal);
    };
    const ended = run(all);
    await starting.promise;
    signal();
    await ended;
    expect(events).not.toContain("start c");
    expect(all.map(({ state }) => state)).toEqual(["STOPPED", "STOPPED", "STOPPED"]);
  });

  it("drains a real process on SIGTERM, and ends it on the second", async () => {
    const script = `
      import { configureLogging, runUntilSignal, Service } from "./src/runtime/index.ts";
      configureLogging({ level: "info", format: "json" });
      class Stubborn extends Service {
        async runOnce(signal) { await new Promise((resolve) => signal.addEventListener("abort", resolve)); }
        onStop() { console.log("draining"); return new Promise((resolve) => setTimeout(resolve, 600_000)); }
      }
      const running = runUntilSignal([new Stubborn("stubborn")]);
      setTimeout(() => console.log("up"), 1);
      await running;`;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", script]);
    try {
      const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const logged = text(child.stderr);
      const exited = once(child, "exit");
      expect(await said.next()).toMatchObject({ value: "up" });
      child.kill("SIGTERM");
      expect(await said.next()).toMatchObject({ value: "draining" });
      child.kill("SIGTERM");
      expect(await exited).toEqual([143, null]);
      const lines = (await logged).trim().split("\n");
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { level: "info", logger: "stubborn", message: "Started." },
        { level: "info", logger: "shutdown", message: expect.stringContaining("SIGTERM received") },
      ]);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
