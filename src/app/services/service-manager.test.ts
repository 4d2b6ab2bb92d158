import { setImmediate as settle } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  configOf,
  Probe,
  ProbeWorld,
  reaches,
  tallymanWithoutDatabase,
} from "../../../tests/kit/services.ts";
import { TallymanError } from "../../errors/index.ts";
import { prometheusText } from "../../monitoring/index.ts";
import { deferred } from "../../runtime/index.ts";
import { FakeClock, LogCapture } from "../../testing/index.ts";
import { queuePort, ServiceManager } from "../index.ts";

let logs: LogCapture;
let world: ProbeWorld;
let clock: FakeClock;

beforeEach(() => {
  logs = new LogCapture();
  world = new ProbeWorld();
  clock = new FakeClock();
});

afterEach(() => {
  logs[Symbol.dispose]();
  logs.verify();
});

const three = "services: { a: { type: Probe }, b: { type: Probe }, c: { type: Probe } }";

function managerOf(text: string, tallyman = tallymanWithoutDatabase()): ServiceManager {
  const { services, resources } = world;
  return new ServiceManager(tallyman, configOf(text), { services, resources, clock });
}

function states(manager: ServiceManager): string {
  return manager
    .status()
    .map(({ name, state }) => `${name} ${state}`)
    .join(", ");
}

function expectFailure(service: string, message: string): void {
  logs.expectLog({ logger: service, level: "error", message: `Failed: ${message}` });
}

describe("start", () => {
  it("is in the order of the file, each after the one before", async () => {
    await using manager = managerOf(three);
    const first = deferred();
    world.prepare = (probe) => {
      if (probe.name === "a") probe.starting = () => first.promise;
    };
    const starting = manager.start();
    await settle();
    expect(world.events).toEqual(["a starts"]);
    expect(manager.status()[0]).toMatchObject({ state: "STOPPED", isStarting: true });
    first.resolve();
    await starting;
    expect(world.events).toEqual(["a starts", "b starts", "c starts"]);
    expect(states(manager)).toBe("a RUNNING, b RUNNING, c RUNNING");
  });

  it("is held up by a slow service for a bounded time only", async () => {
    await using manager = managerOf(three);
    const slow = deferred();
    world.prepare = (probe) => {
      if (probe.name === "a") probe.starting = () => slow.promise;
    };
    const starting = manager.start();
    await clock.advance(9_999);
    expect(world.events).toEqual(["a starts"]);
    await clock.advance(1);
    await starting;
    expect(states(manager)).toBe("a STOPPED, b RUNNING, c RUNNING");
    slow.resolve();
    await reaches(manager, "a", "RUNNING");
  });

  it("leaves out what starts by name only", async () => {
    await using manager = managerOf("services: { a: { type: Probe, autostart: false }, b: { type: Probe } }");
    await manager.start();
    expect(states(manager)).toBe("a STOPPED, b RUNNING");
    expect(await manager.act("start", "a")).toMatchObject({ state: "RUNNING" });
  });

  it("goes on when a service can't be made, and does not retry what a restart can't change", async () => {
    await using manager = managerOf(three);
    world.prepare = (probe) => {
      if (probe.name === "b") throw new TallymanError("INVALID_OPTION", "Unknown option 'x'.");
    };
    logs.expectLog({
      logger: "services",
      level: "error",
      message: "b can't be started: Unknown option 'x'.",
    });
    await manager.start();
    expect(states(manager)).toBe("a RUNNING, b ERROR, c RUNNING");
    expect(manager.status()[1]).toMatchObject({ error: "Unknown option 'x'." });
    expect(manager.status()[1]?.nextRestart).toBeUndefined();
    expect(clock.pendingSleeps).toBe(0);
  });

  it("gives each service its options and the run's id", async () => {
    await using manager = managerOf("runId: run-1\nservices: { a: { type: Probe, options: { size: 5 } } }");
    await manager.start();
    expect(world.probe("a").options).toEqual({ runId: "run-1", size: 5 });
  });
});

describe("stop", () => {
  it("is for all at once, each with its final flush", async () => {
    const manager = managerOf(three);
    const flush = deferred();
    world.prepare = (probe) => {
      probe.flushing = () => flush.promise;
    };
    await manager.start();
    const stopping = manager.stop();
    await settle();
    await settle();
    expect(world.events.slice(3)).toEqual(["a flushes", "b flushes", "c flushes"]);
    flush.resolve();
    expect(await stopping).toEqual({ stopped: ["a", "b", "c"], notStopped: [] });
    expect(world.events.slice(6)).toEqual(["a flushed", "b flushed", "c flushed"]);
    expect(states(manager)).toBe("a STOPPED, b STOPPED, c STOPPED");
  });

  it("lets those that put into a queue end before those that take from it", async () => {
    world.resources.registerResourceType("Queue", {
      usages: ["queue-in", "queue-out"],
      open: () => ({ bind: () => "queue" }),
    });
    const handOver = deferred();
    for (const [className, usage] of [
      ["Taker", "queue-in"],
      ["Feeder", "queue-out"],
    ] as const) {
      world.services.registerServiceType(className, {
        ports: { queue: queuePort(usage, "Queue") },
        create: ({ name, resources, options }) => {
          const probe = new Probe(name, resources, options, world.events);
          if (className === "Feeder") probe.flushing = () => handOver.promise;
          return probe;
        },
      });
    }
    const manager = managerOf(`
resources: { q: { type: Queue } }
services:
  taker: { type: Taker, resources: { queue: queue-in:q } }
  feeder: { type: Feeder, resources: { queue: queue-out:q } }`);
    await manager.start();
    const stopping = manager.stop();
    await settle();
    await settle();
    handOver.resolve();
    await stopping;
    expect(world.events.slice(2)).toEqual([
      "feeder flushes",
      "feeder flushed",
      "taker flushes",
      "taker flushed",
    ]);
  });

  it("names the service that does not stop in time", async () => {
    const manager = managerOf(`settings: { stopTimeoutMs: 5000 }\n${three}`);
    const flush = deferred();
    world.prepare = (probe) => {
      if (probe.name === "b") probe.flushing = () => flush.promise;
    };
    await manager.start();
    logs.expectLog({ logger: "services", level: "error", message: "Not stopped within 5000 ms: b." });
    const stopping = manager.stop();
    await clock.advance(5_000);
    expect(await stopping).toEqual({ stopped: ["a", "c"], notStopped: ["b"] });
    flush.resolve();
    await reaches(manager, "b", "STOPPED");
  });

  it("ends a start that is under way, refuses further ones meanwhile, and allows a new life after it", async () => {
    const manager = managerOf(three);
    const slow = deferred();
    world.prepare = (probe) => {
      if (probe.name === "b") probe.starting = () => slow.promise;
    };
    const starting = manager.start();
    await settle();
    await settle();
    const stopping = manager.stop();
    await expect(manager.act("start", "c")).rejects.toMatchObject({ code: "SERVICE_WRONG_STATE" });
    slow.resolve();
    await stopping;
    await starting;
    expect(states(manager)).toBe("a STOPPED, b STOPPED, c STOPPED");
    expect(world.events).not.toContain("c starts");
    await manager.start();
    expect(states(manager)).toBe("a RUNNING, b RUNNING, c RUNNING");
    await manager.stop();
  });

  it("keeps a service from starting whose resources are still being opened", async () => {
    const opened = deferred();
    world.resources.registerResourceType("SlowQueue", {
      usages: ["queue-in"],
      open: async () => {
        await opened.promise;
        return { bind: () => "queue" };
      },
    });
    world.services.registerServiceType("Taker", {
      ports: { queue: queuePort("queue-in", "SlowQueue") },
      create: ({ name, resources, options }) => new Probe(name, resources, options, world.events),
    });
    const text = "services: { a: { type: Taker, resources: { queue: queue-in:q } } }";
    const manager = managerOf(`resources: { q: { type: SlowQueue } }\n${text}`);
    const starting = manager.start();
    await settle();
    const stopping = manager.stop();
    opened.resolve();
    await Promise.all([starting, stopping]);
    expect(world.events).toEqual([]);
    expect(states(manager)).toBe("a STOPPED");
  });

  it("does not restart a service whose final flush fails, and shows it", async () => {
    const manager = managerOf("services: { a: { type: Probe } }");
    world.prepare = (probe) => {
      probe.flushing = async () => {
        throw new Error("disk full");
      };
    };
    await manager.start();
    logs.expectLog({ logger: "a", level: "error", message: "Failed to stop cleanly: disk full" });
    await manager.stop();
    expect(manager.status()[0]).toMatchObject({ state: "ERROR", error: "disk full" });
    expect(clock.pendingSleeps).toBe(0);
  });
});

const policy = "restart: { maxRestarts: 2, backoffMs: 1000, maxBackoffMs: 1500, healthyAfterMs: 10000 }";

describe("a service that fails", () => {
  it("leaves the rest running", async () => {
    await using manager = managerOf(
      three.replace("b: { type: Probe", "b: { type: Probe, restart: { policy: never }"),
    );
    await manager.start();
    expectFailure("b", "boom");
    world.probe("b").fail("boom");
    await reaches(manager, "b", "ERROR");
    expect(states(manager)).toBe("a RUNNING, b ERROR, c RUNNING");
    expect(clock.pendingSleeps).toBe(0);
  });

  it("is restarted with growing delays, then left in ERROR", async () => {
    await using manager = managerOf(`services: { a: { type: Probe, ${policy} } }`);
    await manager.start();
    expectFailure("a", "boom");
    for (const delayMs of [1_000, 1_500]) {
      world.probe("a").fail("boom");
      await reaches(manager, "a", "ERROR");
      expect(manager.status()[0]?.nextRestart).toMatchObject({ attemptsMax: 2, delayMs });
      await clock.advance(delayMs - 1);
      expect(states(manager)).toBe("a ERROR");
      await clock.advance(1);
      await reaches(manager, "a", "RUNNING");
      expect(manager.status()[0]).not.toHaveProperty("error");
    }
    world.probe("a").fail("boom");
    await reaches(manager, "a", "ERROR");
    expect(manager.status()[0]).toMatchObject({ restarts: 2, error: "boom" });
    expect(clock.pendingSleeps).toBe(0);
  });

  it("has its restarts counted anew after it was healthy", async () => {
    await using manager = managerOf(`services: { a: { type: Probe, ${policy} } }`);
    await manager.start();
    expectFailure("a", "boom");
    for (let failure = 0; failure < 5; failure++) {
      await clock.advance(10_000);
      world.probe("a").fail("boom");
      await reaches(manager, "a", "ERROR");
      expect(manager.status()[0]?.nextRestart?.attempt).toBe(1);
      await clock.advance(1_000);
      await reaches(manager, "a", "RUNNING");
    }
    expect(manager.status()[0]?.restarts).toBe(5);
  });

  it("is retried when already its start fails, a life too short to count as healthy", async () => {
    await using manager = managerOf(`services: { a: { type: Probe, ${policy} } }`);
    let starts = 0;
    world.prepare = (probe) => {
      probe.starting = async () => {
        if (++starts < 3) throw new Error(`no network ${starts}`);
      };
    };
    await manager.start();
    expect(manager.status()[0]).toMatchObject({ state: "ERROR", error: "no network 1" });
    await clock.advance(1_000);
    await reaches(manager, "a", "ERROR", "no network 2");
    await clock.advance(1_500);
    await reaches(manager, "a", "RUNNING");
  });

  it("is not restarted once an operator has stopped it", async () => {
    await using manager = managerOf(`services: { a: { type: Probe, ${policy} } }`);
    await manager.start();
    expectFailure("a", "boom");
    world.probe("a").fail("boom");
    await reaches(manager, "a", "ERROR");
    expect(await manager.act("stop", "a")).toMatchObject({ state: "STOPPED" });
    await clock.advance(100_000);
    expect(states(manager)).toBe("a STOPPED");
  });

  it("is not restarted either when the stop comes while its failed start still releases what it had", async () => {
    await using manager = managerOf(`services: { a: { type: Probe, ${policy} } }`);
    const release = deferred();
    world.prepare = (probe) => {
      probe.starting = async () => {
        probe.starting = async () => {};
        throw new Error("no network");
      };
      probe.flushing = () => release.promise;
    };
    const starting = manager.start();
    await reaches(manager, "a", "ERROR");
    await clock.advance(1_000);
    const stopping = manager.act("stop", "a");
    release.resolve();
    await Promise.all([starting, stopping]);
    await settle();
    expect(states(manager)).toBe("a STOPPED");
    expect(world.events.filter((event) => event === "a starts")).toHaveLength(1);
    expect(manager.status()[0]?.restarts).toBe(0);
  });

  it("is shown as it is when it is stopped and started at once", async () => {
    await using manager = managerOf("services: { a: { type: Probe, restart: { policy: never } } }");
    await manager.start();
    expectFailure("a", "boom");
    world.probe("a").fail("boom");
    await reaches(manager, "a", "ERROR");
    await Promise.all([manager.act("stop", "a"), manager.act("start", "a")]);
    expect(states(manager)).toBe("a RUNNING");

    world.probe("a").fail("boom");
    await reaches(manager, "a", "ERROR");
    world.probe("a").starting = () => Promise.reject(new Error("no network"));
    const [, started] = await Promise.allSettled([manager.act("stop", "a"), manager.act("start", "a")]);
    expect(started).toMatchObject({ status: "rejected" });
    expect(manager.status()[0]).toMatchObject({ state: "ERROR", error: "no network" });
  });
});

describe("actions", () => {
  it("pause, resume and restart by name", async () => {
    await using manager = managerOf(three);
    const changes: string[] = [];
    await manager.start();
    manager.onChange(({ name, state }, previous) => changes.push(`${name} ${previous} → ${state}`));
    const pausing = manager.act("pause", "b");
    world.probe("b").endTurn();
    await pausing;
    expect(states(manager)).toBe("a RUNNING, b PAUSED, c RUNNING");
    await manager.act("resume", "b");
    await manager.act("restart", "c");
    expect(changes).toEqual([
      "b RUNNING → PAUSED",
      "b PAUSED → RUNNING",
      "c RUNNING → STOPPED",
      "c STOPPED → RUNNING",
    ]);
  });

  it("do not start a service again that is stopped in the middle of its restart", async () => {
    const manager = managerOf("services: { a: { type: Probe } }");
    const flush = deferred();
    world.prepare = (probe) => {
      probe.flushing = () => flush.promise;
    };
    await manager.start();
    const restarting = manager.act("restart", "a");
    const refused = expect(restarting).rejects.toMatchObject({ code: "ABORTED" });
    const stopping = manager.stop();
    flush.resolve();
    await Promise.all([refused, stopping]);
    expect(states(manager)).toBe("a STOPPED");
    expect(world.events).toEqual(["a starts", "a flushes", "a flushed"]);
  });

  it.each([
    ["pause", "STOPPED", "Can't pause a: it is STOPPED. Possible now: start, restart."],
    ["resume", "RUNNING", "Can't resume a: it is RUNNING. Possible now: stop, pause, restart."],
    ["start", "RUNNING", "Can't start a: it is RUNNING. Possible now: stop, pause, restart."],
    ["stop", "STOPPED", "Can't stop a: it is STOPPED. Possible now: start, restart."],
  ] as const)("refuse to %s a service that is %s", async (action, state, message) => {
    await using manager = managerOf("services: { a: { type: Probe } }");
    if (state === "RUNNING") await manager.start();
    await expect(manager.act(action, "a")).rejects.toMatchObject({ code: "SERVICE_WRONG_STATE", message });
  });

  it("name the service that was probably meant", async () => {
    await using manager = managerOf("services: { dummy-indexer: { type: Probe } }");
    await expect(manager.act("stop", "dumy-indexer")).rejects.toMatchObject({
      code: "SERVICE_UNKNOWN",
      message: "There is no service 'dumy-indexer'. Did you mean 'dummy-indexer'?",
    });
  });
});

describe("monitoring", () => {
  it("has each service's own figures, its health and its restarts, until the stop", async () => {
    const tallyman = tallymanWithoutDatabase();
    const manager = managerOf(`services: { a: { type: Probe, ${policy} }, b: { type: Probe } }`, tallyman);
    await manager.start();
    expectFailure("a", "boom");
    world.probe("a").fail("boom");
    await reaches(manager, "a", "ERROR");
    const [a, b] = tallyman.metrics.collect();
    expect(a).toMatchObject({ kind: "service", name: "a", healthy: false });
    expect(a?.errors[0]).toMatchObject({ code: "SERVICE_FAILED", details: "Error: boom" });
    expect(b).toMatchObject({ healthy: true, metrics: { ticks_processed: 7, service_running: 1 } });
    await clock.advance(1_000);
    await reaches(manager, "a", "RUNNING");
    expect(await prometheusText(tallyman.metrics)).toMatch(
      /tallyman_service_restarts_total\{.*name="a".*\} 1/,
    );
    await manager.stop();
    expect(tallyman.metrics.collect()).toEqual([]);
  });
});
