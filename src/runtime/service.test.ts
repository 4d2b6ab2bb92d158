import { setImmediate as settle } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LogCapture } from "../testing/index.ts";
import { type Deferred, deferred, Service, type ServiceState, sleep } from "./index.ts";

/** A service whose turns the test ends by hand; it writes down what happens to it. */
class Probe extends Service {
  readonly events: string[] = [];
  readonly turns: Deferred<void>[] = [];
  /** Resolves at the beginning of the next turn. */
  nextTurn = deferred();
  starting: (signal: AbortSignal) => Promise<void> = async () => {};
  stopping: () => Promise<void> = async () => {};

  constructor(name = "probe") {
    super(name);
    this.onStateChange((state) => this.events.push(state));
  }

  protected override async onStart(signal: AbortSignal): Promise<void> {
    this.events.push("onStart");
    await this.starting(signal);
  }

  override async runOnce(signal: AbortSignal): Promise<void> {
    const turn = deferred();
    this.turns.push(turn);
    this.nextTurn.resolve();
    this.nextTurn = deferred();
    signal.addEventListener("abort", () => turn.reject(signal.reason));
    await turn.promise;
  }

  protected override async onStop(): Promise<void> {
    this.events.push("onStop");
    await this.stopping();
  }

  async startTurning(): Promise<void> {
    const turning = this.nextTurn.promise;
    await this.start();
    await turning;
  }

  async reaches(state: ServiceState): Promise<void> {
    if (this.state === state) return;
    const reached = deferred();
    const off = this.onStateChange((now) => now === state && reached.resolve());
    await reached.promise;
    off();
  }
}

let logs: LogCapture;

beforeEach(() => {
  logs = new LogCapture();
});

afterEach(() => {
  logs[Symbol.dispose]();
  logs.verify();
});

const messages = () => logs.records.map(({ level, logger, message }) => `${level} ${logger}: ${message}`);

describe("Service", () => {
  it("loops around runOnce from start to stop, and logs only its lifecycle", async () => {
    const probe = new Probe();
    await probe.startTurning();
    for (let i = 0; i < 3; i++) {
      const next = probe.nextTurn.promise;
      probe.turns.at(-1)?.resolve();
      await next;
    }
    await probe.stop();
    expect(probe.turns).toHaveLength(4);
    expect(probe.events).toEqual(["onStart", "RUNNING", "onStop", "STOPPED"]);
    expect(messages()).toEqual(["info probe: Started.", "info probe: Stopped."]);
  });

  it("lets a test run one turn by itself", async () => {
    const probe = new Probe();
    const turn = probe.runOnce(new AbortController().signal);
    probe.turns[0]?.resolve();
    await turn;
    expect(probe.state).toBe("STOPPED");
  });

  it("is idempotent: start when running, stop before start and twice", async () => {
    const probe = new Probe();
    await probe.stop();
    await Promise.all([probe.start(), probe.start()]);
    await probe.start();
    await Promise.all([probe.stop(), probe.stop()]);
    await probe.stop();
    expect(probe.events).toEqual(["onStart", "RUNNING", "onStop", "STOPPED"]);
  });

  it("shares one drain between concurrent stops, and waits for the running turn and the final flush", async () => {
    const probe = new Probe();
    const finalFlush = deferred();
    probe.stopping = () => finalFlush.promise;
    await probe.startTurning();
    let stopped = 0;
    const stops = [probe.stop(), probe.stop()].map((stop) => stop.then(() => stopped++));
    await settle();
    expect([stopped, probe.state]).toEqual([0, "RUNNING"]);
    finalFlush.resolve();
    await Promise.all(stops);
    expect(probe.events.filter((event) => event === "onStop")).toHaveLength(1);
  });

  it("takes lifecycle calls in the order in which they were made", async () => {
    const probe = new Probe();
    await probe.startTurning();
    await Promise.all([probe.stop(), probe.start()]);
    await probe.restart();
    expect(probe.events).toEqual([
      ...["onStart", "RUNNING", "onStop", "STOPPED"],
      ...["onStart", "RUNNING", "onStop", "STOPPED"],
      ...["onStart", "RUNNING"],
    ]);
    const calls = await Promise.allSettled([probe.stop(), probe.start(), probe.stop()]);
    expect(calls).toMatchObject([{}, { reason: { code: "ABORTED" } }, {}]);
    expect(probe.state).toBe("STOPPED");
  });

  it("can be stopped although its turns wait for nothing", async () => {
    const turnsMax = 100_000;
    const turned = deferred();
    class Busy extends Service {
      turns = 0;
      protected async runOnce(): Promise<void> {
        if (++this.turns === 3) turned.resolve();
        if (this.turns > turnsMax) throw new Error("nobody else had a turn");
      }
    }
    await using busy = new Busy("busy");
    await busy.start();
    await turned.promise;
    await settle();
    await busy.stop();
    expect(busy.failure).toBeUndefined();
  });

  it("may stop itself from within", async () => {
    class Once extends Service {
      turns = 0;
      protected async runOnce(): Promise<void> {
        this.turns++;
        void this.stop();
      }
    }
    const once = new Once("once");
    const stopped = deferred();
    once.onStateChange((state) => state === "STOPPED" && stopped.resolve());
    await once.start();
    await stopped.promise;
    expect(once.turns).toBe(1);
  });

  it("is stopped by disposal", async () => {
    const probe = new Probe();
    {
      await using disposed = probe;
      await disposed.start();
    }
    expect(probe.state).toBe("STOPPED");
  });
});

describe("Service, paused", () => {
  it("finishes the present turn, begins no other, and goes on when resumed", async () => {
    const probe = new Probe();
    await probe.startTurning();
    let paused = false;
    const pausing = probe.pause().then(() => {
      paused = true;
    });
    await settle();
    expect([paused, probe.state]).toEqual([false, "PAUSED"]);
    probe.turns[0]?.resolve();
    await pausing;
    await settle();
    expect(probe.turns).toHaveLength(1);
    const next = probe.nextTurn.promise;
    await probe.resume();
    await next;
    expect(probe.state).toBe("RUNNING");
    await probe.stop();
  });

  it("can be stopped", async () => {
    const probe = new Probe();
    await probe.startTurning();
    const pausing = probe.pause();
    await settle();
    probe.turns[0]?.resolve();
    await pausing;
    await probe.stop();
    expect(probe.events).toEqual(["onStart", "RUNNING", "PAUSED", "onStop", "STOPPED"]);
  });

  it("refuses the transitions that do not exist, naming the state", async () => {
    const probe = new Probe();
    const refused = (message: string) => expect.objectContaining({ code: "INVALID_STATE", message });
    await expect(probe.pause()).rejects.toEqual(refused("Can't pause probe: it is STOPPED."));
    await expect(probe.resume()).rejects.toEqual(refused("Can't resume probe: it is STOPPED."));
    await probe.startTurning();
    await expect(probe.resume()).rejects.toEqual(refused("Can't resume probe: it is RUNNING."));
    const pausing = probe.pause();
    await settle();
    probe.turns[0]?.resolve();
    await pausing;
    await expect(probe.pause()).rejects.toEqual(refused("Can't pause probe: it is PAUSED."));
    await expect(probe.start()).rejects.toEqual(refused("Can't start probe: it is PAUSED."));
    await probe.stop();
  });

  it("tells whoever paused it that it was stopped, or failed, instead", async () => {
    const stopped = new Probe();
    await stopped.startTurning();
    const pausing = expect(stopped.pause()).rejects.toThrow("Can't pause probe: it is stopping.");
    await settle();
    await stopped.stop();
    await pausing;

    logs.expectLog({ logger: "probe", level: "error", message: "Failed: boom" });
    const failed = new Probe();
    await failed.startTurning();
    const pausingToo = expect(failed.pause()).rejects.toThrow("Can't pause probe: it is ERROR.");
    await settle();
    failed.turns[0]?.reject(new Error("boom"));
    await pausingToo;
  });
});

describe("Service, failing", () => {
  it("goes to ERROR, logs once, keeps the failure, releases, leaves others alone and can be started again", async () => {
    logs.expectLog({ logger: "probe", level: "error", message: "Failed: boom" });
    await using other = new Probe("other");
    const probe = new Probe();
    await Promise.all([probe.startTurning(), other.startTurning()]);
    const boom = new Error("boom");
    probe.turns[0]?.reject(boom);
    await probe.reaches("ERROR");
    expect([probe.failure, other.state]).toEqual([boom, "RUNNING"]);
    await probe.stop();
    expect(probe.state).toBe("ERROR");
    await probe.startTurning();
    expect([probe.state, probe.failure]).toEqual(["RUNNING", undefined]);
    await probe.stop();
    expect(probe.events).toEqual([
      ...["onStart", "RUNNING", "ERROR", "onStop"],
      ...["onStart", "RUNNING", "onStop", "STOPPED"],
    ]);
    expect(logs.records.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  it("starts again only after the release that follows a failure", async () => {
    logs.expectLog({ logger: "probe", level: "error", message: "Failed: boom" });
    const probe = new Probe();
    const released = deferred();
    probe.stopping = () => released.promise;
    await probe.startTurning();
    probe.turns[0]?.reject(new Error("boom"));
    await probe.reaches("ERROR");
    const starting = probe.start();
    await settle();
    expect(probe.events.at(-1)).toBe("onStop");
    released.resolve();
    await starting;
    await probe.stop();
  });

  it("takes an abort error for a failure when nobody asked it to stop", async () => {
    logs.expectLog({ logger: "probe", level: "error", message: "Failed: This operation was aborted" });
    const probe = new Probe();
    await probe.startTurning();
    probe.turns[0]?.reject(AbortSignal.abort().reason);
    await probe.reaches("ERROR");
    await probe.stop();
  });

  it("keeps an error of the drain: of the last turn, or of the final flush", async () => {
    logs.expectLog({ logger: "probe", level: "error", message: "Failed: disk full" });
    const turn = new Probe();
    turn.runOnce = (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject("disk full"));
      });
    await turn.start();
    await turn.stop();
    expect([turn.state, turn.failure?.message]).toEqual(["ERROR", "disk full"]);

    logs.expectLog({ logger: "probe", level: "error", message: "Failed to stop cleanly: flush failed" });
    const flush = new Probe();
    flush.stopping = async () => Promise.reject(new Error("flush failed"));
    await flush.startTurning();
    await flush.stop();
    expect([flush.state, flush.failure?.message]).toEqual(["ERROR", "flush failed"]);
  });

  it("rejects start() with the error of onStart, and releases", async () => {
    const probe = new Probe();
    const boom = new Error("no database");
    probe.starting = async () => Promise.reject(boom);
    await expect(probe.start()).rejects.toBe(boom);
    expect([probe.state, probe.failure]).toEqual(["ERROR", boom]);
    expect(probe.events).toEqual(["onStart", "ERROR", "onStop"]);
    await probe.stop();
  });

  it("interrupts a start that is under way, or still in the queue", async () => {
    const probe = new Probe();
    probe.starting = (signal) => sleep(600_000, signal);
    const underWay = expect(probe.start()).rejects.toMatchObject({ code: "ABORTED" });
    await settle();
    await probe.stop();
    await underWay;
    expect(probe.events).toEqual(["onStart", "onStop"]);
    const queued = expect(probe.start()).rejects.toThrow("probe was stopped while starting.");
    await probe.stop();
    await queued;
    expect([probe.state, probe.failure]).toEqual(["STOPPED", undefined]);
  });

  it("survives a listener that throws, and forgets one that left", async () => {
    logs.expectLog({ logger: "probe", level: "error", message: "A state listener threw." });
    const probe = new Probe();
    const off = probe.onStateChange(() => {
      throw new Error("listener");
    });
    await probe.start();
    off();
    await probe.stop();
    expect(logs.records.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});
