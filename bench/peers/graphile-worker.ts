import { commandType, concurrency, payload } from "../commands/load.ts";
import { loadPeer, peerMissing } from "../harness/peer-packages.ts";
import type { Contender } from "../harness/scenario.ts";

const name = "graphile-worker";

type Task = (payload: unknown) => void;

interface WorkerUtilities {
  migrate(): Promise<void>;
  addJob(identifier: string, payload: unknown): Promise<unknown>;
  addJobs(jobs: readonly { identifier: string; payload: unknown }[]): Promise<unknown>;
  release(): Promise<void>;
}

/** What we use of its exports. */
interface GraphileWorker {
  readonly Logger: new (factory: () => () => void) => unknown;
  makeWorkerUtils(options: object): Promise<WorkerUtilities>;
  run(options: object): Promise<{ stop(): Promise<void> }>;
}

/** The options that its documentation on performance gives. */
const tuned = {
  concurrentJobs: concurrency,
  maxPoolSize: concurrency + 1,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

/** Its two ways of being set up, with what is said of each. */
export const graphileSetups = {
  tuned: {
    options: tuned,
    settings: `one process; as its page on performance advises: ${JSON.stringify(tuned)}`,
  },
  default: {
    options: { concurrentJobs: concurrency, maxPoolSize: concurrency + 1 },
    settings: `one process; its defaults, but ${concurrency} jobs at a time instead of one`,
  },
} as const;

/** One of {@link graphileSetups}. */
export type GraphileSetup = keyof typeof graphileSetups;

/** What its contenders have in common. */
export function graphileContender(setup: GraphileSetup) {
  return {
    name: `${name} ${setup}`,
    kind: "peer",
    settings: graphileSetups[setup].settings,
    missing: () => peerMissing(name),
  } satisfies Omit<Contender<never>, "run">;
}

function shared(url: string) {
  const { Logger } = loadPeer<GraphileWorker>(name);
  return { connectionString: url, logger: new Logger(() => () => {}) };
}

/** A client with its tables in place. */
export async function graphileClient(url: string): Promise<WorkerUtilities & AsyncDisposable> {
  const utilities = await loadPeer<GraphileWorker>(name).makeWorkerUtils(shared(url));
  await utilities.migrate();
  return { ...utilities, [Symbol.asyncDispose]: () => utilities.release() };
}

/** Jobs for one call that adds them all. */
export function graphileJobs(count: number) {
  return Array.from({ length: count }, () => ({ identifier: commandType, payload }));
}

/** A worker that runs a task for each job. */
export async function graphileWorker(
  url: string,
  setup: GraphileSetup,
  task: Task,
): Promise<AsyncDisposable> {
  const runner = await loadPeer<GraphileWorker>(name).run({
    ...shared(url),
    noHandleSignals: true,
    taskList: { [commandType]: task },
    preset: { worker: graphileSetups[setup].options },
  });
  return { [Symbol.asyncDispose]: () => runner.stop() };
}
