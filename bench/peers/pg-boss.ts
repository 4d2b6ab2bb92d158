import { payload } from "../commands/load.ts";
import { loadPeer, peerMissing } from "../harness/peer-packages.ts";
import type { Contender } from "../harness/scenario.ts";

const packageName = "pg-boss";
const queue = "bench";

interface Job {
  readonly id: string;
  readonly data: unknown;
}

/** What we use of it. */
interface PgBoss {
  on(event: "error", listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  createQueue(name: string): Promise<void>;
  insert(jobs: readonly object[]): Promise<void>;
  send(name: string, data: object): Promise<unknown>;
  fetch(name: string, options: { batchSize: number }): Promise<Job[]>;
  complete(name: string, ids: readonly string[]): Promise<unknown>;
  work(name: string, options: object, handler: (jobs: readonly Job[]) => Promise<void>): Promise<string>;
}

/** What its contenders have in common. */
export function pgBossContender(setup: string, settings: string) {
  return {
    name: `${packageName} ${setup}`,
    kind: "peer",
    settings,
    missing: () => peerMissing(packageName),
  } satisfies Omit<Contender<never>, "run">;
}

/** A started client with one queue, whose name is bound. */
export async function pgBoss(url: string) {
  const Constructor = loadPeer<new (options: object) => PgBoss>(packageName);
  const boss = new Constructor({ connectionString: url, max: 10 });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue(queue);
  return {
    send: (data: object) => boss.send(queue, data),
    /** One call that adds them all. */
    insert: (count: number) =>
      boss.insert(Array.from({ length: count }, () => ({ name: queue, data: payload }))),
    fetch: (batchSize: number) => boss.fetch(queue, { batchSize }),
    complete: (jobs: readonly Job[]) =>
      boss.complete(
        queue,
        jobs.map(({ id }) => id),
      ),
    work: (options: object, handler: (jobs: readonly Job[]) => Promise<void>) =>
      boss.work(queue, options, handler),
    [Symbol.asyncDispose]: () => boss.stop({ graceful: false, wait: true }),
  };
}
