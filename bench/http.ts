/**
 * The HTTP API on a PostgreSQL of its own; the server is a process of its own:
 *
 *   node --import tsx bench/http.ts [--history 5000000] [--seconds 5]
 *
 * Reads: requests per second and latency by wrk (Debian), 16 clients that ask for the same. Overview: its time with a
 * history of finished commands, and again with the 600,000 that the import left waiting. Slow sockets: the time of
 * /healthz while 500 of them hang. Events: memory of the server with 2,000 clients. Import: a batch of 100,000
 * commands over HTTP against the library.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { parseArgs } from "node:util";
import { Tallyman } from "../src/app/index.ts";
import { TallymanClient } from "../src/client/index.ts";
import { sleep } from "../src/runtime/index.ts";
import { fillHistory } from "./commands/load.ts";
import { startBenchServer } from "./harness/server.ts";

const { values } = parseArgs({
  options: { history: { type: "string", default: "5000000" }, seconds: { type: "string", default: "5" } },
});
const history = Number(values.history);
const seconds = Number(values.seconds);
const commandsPerBatch = 100_000;
const pageLength = 20;
const slowSockets = 500;
const eventClients = 2_000;

await using postgres = await startBenchServer();
await using tallyman = await Tallyman.connect({ database: postgres.url });
const { child, url } = await startServer(postgres.url);
try {
  const client = new TallymanClient({ url, timeoutMs: 120_000 });
  console.log("settings", JSON.stringify({ history, seconds }));
  const batchId = await createBatches(client, pageLength);
  await fillHistory(postgres.database, history);
  await postgres.database.query("VACUUM ANALYZE");
  for (const path of [
    "/healthz",
    `/api/batches/${batchId}`,
    `/api/batches?limit=${pageLength}`,
    "/api/tsq/groups",
    "/api/overview",
  ])
    console.log("read", JSON.stringify(read(`${url}${path}`)));
  console.log("overview", JSON.stringify(await overviewTime(client)));
  console.log("slow sockets", JSON.stringify(await healthWhileSlow(url)));
  console.log("events", JSON.stringify(await eventMemory(url, child.pid ?? 0)));
  console.log("import", JSON.stringify(await importRate(client)));
  console.log("overview with a backlog", JSON.stringify(await overviewTime(client)));
} finally {
  child.kill("SIGTERM");
  await once(child, "exit");
}

async function startServer(database: string): Promise<{ child: ChildProcess; url: string }> {
  const file = new URL("./http/server.child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, ["--import", "tsx", file, database], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout ?? child, "data");
  return { child, url: String(line).trim() };
}

/** Small batches, so that there is a page of them; the id of the last. */
async function createBatches(client: TallymanClient, count: number): Promise<string> {
  let last = "";
  for (let n = 0; n < count; n++) {
    const { batchId } = await client.call("POST /api/domains/:domain/batches", {
      params: { domain: "bench" },
      body: { commands: [{ commandType: "T", data: {} }] },
    });
    last = batchId;
  }
  return last;
}

async function importRate(client: TallymanClient) {
  const commands = Array.from({ length: commandsPerBatch }, (_, n) => ({
    commandType: "T",
    data: { orderId: n, note: "an order like many others" },
  }));
  const rate = async (work: () => Promise<unknown>) => {
    const startMs = performance.now();
    await work();
    return Math.round((commandsPerBatch * 1_000) / (performance.now() - startMs));
  };
  const overHttp: number[] = [];
  const library: number[] = [];
  for (let round = 0; round < 3; round++) {
    library.push(await rate(() => tallyman.commands.createBatch("bench-library", commands)));
    overHttp.push(
      await rate(() =>
        client.call("POST /api/domains/:domain/batches/import", {
          params: { domain: "bench-http" },
          body: commands,
        }),
      ),
    );
  }
  const median = (rates: number[]) => rates.toSorted((a, b) => a - b)[1] ?? 0;
  return {
    httpPerSecond: median(overHttp),
    libraryPerSecond: median(library),
    ratio: Number((median(overHttp) / median(library)).toFixed(2)),
  };
}

function read(target: string) {
  const { stdout, error } = spawnSync("wrk", ["-t1", "-c16", `-d${seconds}s`, "--latency", target], {
    encoding: "utf8",
  });
  const path = new URL(target).pathname;
  if (error) return { path, missing: "wrk is not installed (Debian: wrk)" };
  const number = (pattern: RegExp) => pattern.exec(stdout)?.[1] ?? "?";
  return {
    path,
    perSecond: Math.round(Number(number(/Requests\/sec:\s+([\d.]+)/))),
    p50: number(/\n\s+50%\s+(\S+)/),
    p99: number(/\n\s+99%\s+(\S+)/),
    errors: number(/Non-2xx or 3xx responses: (\d+)/).replace("?", "0"),
  };
}

async function overviewTime(client: TallymanClient) {
  const times: number[] = [];
  for (let n = 0; n < 100; n++) {
    const startMs = performance.now();
    await client.call("GET /api/overview");
    times.push(performance.now() - startMs);
  }
  return percentiles(times);
}

async function healthWhileSlow(base: string) {
  const { port } = new URL(base);
  const sockets: Socket[] = Array.from({ length: slowSockets }, () => {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("POST /api/tsq/retry HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{");
    return socket;
  });
  const times: number[] = [];
  for (let n = 0; n < 200; n++) {
    const startMs = performance.now();
    await (await fetch(`${base}/healthz`)).text();
    times.push(performance.now() - startMs);
    await sleep(5);
  }
  for (const socket of sockets) socket.destroy();
  return percentiles(times);
}

async function eventMemory(base: string, pid: number) {
  const { port } = new URL(base);
  const before = rssMegabytes(pid);
  let received = 0;
  const sockets: Socket[] = [];
  for (let n = 0; n < eventClients; n++) {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.on("data", () => received++);
    socket.write("GET /api/events?topics=overview,batches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    sockets.push(socket);
    if (n % 100 === 0) await sleep(20);
  }
  await sleep(5_000);
  const after = rssMegabytes(pid);
  for (const socket of sockets) socket.destroy();
  return {
    clients: eventClients,
    chunksReceived: received,
    beforeMegabytes: before,
    withClientsMegabytes: after,
  };
}

function rssMegabytes(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kilobytes) / 1_024);
}

function percentiles(times: number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => Number((sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(2));
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
