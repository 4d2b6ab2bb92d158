import { CommandBus } from "../../src/commands/index.ts";
import { Database } from "../../src/database/index.ts";
import { deferred, sleep } from "../../src/runtime/index.ts";
import { commandType, concurrency, domain } from "../commands/load.ts";
import type { Contender, Context, Scenario } from "../harness/scenario.ts";
import { delayFigures } from "../harness/statistics.ts";
import {
  type GraphileSetup,
  graphileClient,
  graphileContender,
  graphileWorker,
} from "../peers/graphile-worker.ts";
import { pgBoss, pgBossContender } from "../peers/pg-boss.ts";

interface Size {
  readonly sentPerSecond: number;
  readonly seconds: number;
}

const bossWorkers = 4;
const bossOptions = { batchSize: 500, pollingIntervalSeconds: 0.5 };

/** From the call that sends to the handler's start, for each of many that are sent one by one. */
class PickUps {
  readonly #total: number;
  readonly #sentMs = new Map<number, number>();
  readonly #delaysMs: number[] = [];
  readonly #all = deferred();

  constructor(total: number) {
    this.#total = total;
  }

  /** A handler has begun with what was sent as `{ n }`. */
  readonly pickedUp = (data: unknown): void => {
    const sentMs = this.#sentMs.get((data as { n: number }).n) ?? Number.NaN;
    if (this.#delaysMs.push(performance.now() - sentMs) === this.#total) this.#all.resolve();
  };

  /** Sends at an even pace, whether or not earlier ones have arrived. */
  async send(sentPerSecond: number, send: (data: { n: number }) => Promise<unknown>): Promise<void> {
    const startMs = performance.now();
    const sends: Promise<unknown>[] = [];
    for (let n = 0; n < this.#total; n++) {
      const earlyMs = startMs + (n * 1_000) / sentPerSecond - performance.now();
      if (earlyMs > 0) await sleep(earlyMs);
      this.#sentMs.set(n, performance.now());
      sends.push(send({ n }));
    }
    await Promise.all(sends);
    await this.#all.promise;
  }

  figures() {
    return delayFigures(this.#delaysMs);
  }
}

/** Opens both ends of a queue. */
type Open = (context: Context<Size>, pickedUp: (data: unknown) => void) => Promise<Ends>;

interface Ends extends AsyncDisposable {
  send(data: { n: number }): Promise<unknown>;
}

function pickUpsOf(open: Open): Contender<Size>["run"] {
  return async (context) => {
    const { size, measure } = context;
    const total = size.sentPerSecond * size.seconds;
    const pickUps = new PickUps(total);
    await using ends = await open(context, pickUps.pickedUp);
    const sample = await measure(async () => {
      await pickUps.send(size.sentPerSecond, (data) => ends.send(data));
      return total;
    });
    return { ...sample, ...pickUps.figures() };
  };
}

const openOurs: Open = async ({ database, url }, pickedUp) => {
  const bus = new CommandBus(database);
  const sending = await Database.connect({ url, listenUrl: null });
  const sender = new CommandBus(sending);
  const handlers = { [commandType]: ({ data }: { data: unknown }) => pickedUp(data) };
  const worker = bus.worker({ domain, concurrency, handlers });
  await worker.start();
  return {
    send: (data) => sender.send(domain, commandType, { data }),
    async [Symbol.asyncDispose]() {
      for (const each of [worker, sender, bus, sending]) await each[Symbol.asyncDispose]();
    },
  };
};

function graphile(setup: GraphileSetup): Contender<Size> {
  const open: Open = async ({ url }, pickedUp) => {
    const client = await graphileClient(url);
    const worker = await graphileWorker(url, setup, pickedUp);
    return {
      send: (data) => client.addJob(commandType, data),
      async [Symbol.asyncDispose]() {
        await worker[Symbol.asyncDispose]();
        await client[Symbol.asyncDispose]();
      },
    };
  };
  return { ...graphileContender(setup), run: pickUpsOf(open) };
}

const openBoss: Open = async ({ url }, pickedUp) => {
  const client = await pgBoss(url);
  for (let n = 0; n < bossWorkers; n++)
    await client.work(bossOptions, async (jobs) => {
      for (const { data } of jobs) pickedUp(data);
    });
  return client;
};

export const pickUp: Scenario<Size> = {
  name: "pick-up",
  what: "From the call that sends one command to the start of its handler, sender and worker in one process.",
  sizes: { quick: { sentPerSecond: 1_000, seconds: 5 }, full: { sentPerSecond: 1_000, seconds: 30 } },
  warmUp: { sentPerSecond: 1_000, seconds: 1 },
  figures: { p50Ms: "p50 ms", p99Ms: "p99 ms", maxMs: "highest ms", perSecond: "commands/s" },
  goals: [
    { figure: "p50Ms", below: 5 },
    {
      figure: "p50Ms",
      below: "graphile-worker tuned",
      whyMissed:
        "our hint follows the commit and costs a round trip; NOTIFY inside of it would make all senders' commits wait for one lock",
    },
    { figure: "p50Ms", below: "graphile-worker default" },
    { figure: "p50Ms", below: "pg-boss tuned" },
    {
      figure: "p99Ms",
      below: 50,
      whyMissed:
        "every step waits for a commit, and a commit for the disk: when a shared disk stops for a moment, all that is sent in this moment waits",
    },
  ],
  contenders: [
    {
      name: "Tallyman",
      kind: "ours",
      settings: `one worker, ${concurrency} handlers at a time, otherwise the defaults`,
      run: pickUpsOf(openOurs),
    },
    graphile("tuned"),
    graphile("default"),
    {
      ...pgBossContender(
        "tuned",
        `${bossWorkers} workers with ${JSON.stringify(bossOptions)}, the shortest interval it takes`,
      ),
      run: pickUpsOf(openBoss),
    },
  ],
};
