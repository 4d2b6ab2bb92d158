import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sleep } from "../../src/runtime/index.ts";
import type { Fleet, SegmentInfo } from "../../src/scheduler/index.ts";
import type { Child, TestContext } from "../../src/testing/index.ts";
import { startChild } from "./children.ts";

const main = new URL("../../src/cli/main.ts", import.meta.url);

/** The coordinator's settings as a user writes them, in milliseconds. */
export interface CoordinatorSettings {
  readonly heartbeatInterval: number;
  readonly heartbeatTimeout: number;
  readonly leaderLease: number;
}

/** A process that runs `tallyman coordinator`, and its address. */
export interface CoordinatorProcess {
  readonly id: string;
  readonly child: Child;
  readonly url: string;
}

/** Starts `tallyman coordinator` processes on a test's database, or on another. */
export async function coordinatorLauncher(
  t: TestContext,
  settings: CoordinatorSettings,
  databaseUrl = t.url,
) {
  const config = join(await t.temporaryFolder(), "tallyman.config.yaml");
  const { heartbeatInterval, heartbeatTimeout, leaderLease } = settings;
  await writeFile(
    config,
    `scheduler: { coordinator: { heartbeat-interval: ${heartbeatInterval}, heartbeat-timeout: ${heartbeatTimeout}, leader-lease: ${leaderLease} } }\n`,
  );
  return async (id: string): Promise<CoordinatorProcess> => {
    const args = [
      "--config",
      config,
      "--database-url",
      databaseUrl,
      "coordinator",
      "--port",
      "0",
      "--id",
      id,
    ];
    const child = t.use(startChild(main, { args }));
    const line = await child.line("Coordinator ");
    return { id, child, url: /http:\S+\d/.exec(line)?.[0] ?? "" };
  };
}

/** Asks a coordinator over HTTP; the data, or the error's code. */
export async function ask(
  url: string,
  request: string,
): Promise<Record<string, unknown> & { code?: string }> {
  const [method = "GET", path = ""] = request.split(" ");
  const response = await fetch(`${url}${path}`, { method });
  const body = (await response.json()) as { data?: object; error?: object };
  return { ...(body.data ?? body.error) };
}

/** Waits until something that other processes bring about has come true. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  timeoutMs = 60_000,
): Promise<T> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(20)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`It did not come true within ${timeoutMs} ms that ${what}`);
}

/** How many segments each worker owns, in the order of their ids. */
export function sharesOf(segments: readonly SegmentInfo[]): number[] {
  const owners = new Map<string, number>();
  for (const { workerId } of segments) if (workerId) owners.set(workerId, (owners.get(workerId) ?? 0) + 1);
  return [...owners].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count);
}

/** Workers without jobs: they only say that they live, and give back what they are asked for. */
export function idleWorkers(fleet: Fleet, ids: readonly string[], heartbeatTimeoutMs = 20_000) {
  const stopped = new AbortController();
  const live = async (id: string) => {
    while (!stopped.signal.aborted) {
      // The database may be away for a while; a worker that was forgotten registers again.
      await fleet
        .heartbeat(id)
        .then(({ revoking }) => (revoking.length > 0 ? fleet.release(id, revoking) : []))
        .catch(() => fleet.register(id, { cap: null, heartbeatTimeoutMs }).catch(() => undefined));
      await sleep(100, stopped.signal).catch(() => undefined);
    }
  };
  const lives = Promise.all(ids.map(live));
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await lives;
    },
  };
}
