import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deferred, withTimeout } from "../runtime/index.ts";
import { servingPort } from "./serving-port.ts";

const startTimeoutMs = 120_000;
const programs = ["/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"];
const readyLine = "Server is ready";
const metaLeaderPattern = /cluster (new )?metadata leader/;

/** The installed nats-server; undefined when there is none. */
export function natsProgram(): string | undefined {
  return process.env.NATS_SERVER ?? programs.find((program) => existsSync(program));
}

/** A real nats-server with JetStream on a loopback port of its own, with a store of its own. */
export class NatsServer implements AsyncDisposable {
  readonly name: string;
  readonly port: number;
  readonly #folder: string;
  readonly #cluster: string;
  #process: ChildProcess | undefined;
  #exit: Promise<unknown> = Promise.resolve();
  readonly #output: string[] = [];
  readonly #waiting = new Set<() => void>();

  /** @param cluster lines of the configuration that make it a member of a cluster */
  private constructor(name: string, port: number, folder: string, cluster: string) {
    this.name = name;
    this.port = port;
    this.#folder = folder;
    this.#cluster = cluster;
  }

  /** Starts a server; `clusterPort` and `routes` make it a member of a cluster. */
  static async start(
    member: { name?: string; clusterPort?: number; routes?: readonly number[] } = {},
  ): Promise<NatsServer> {
    const { name = "nats", clusterPort, routes = [] } = member;
    const folder = await mkdtemp(join(tmpdir(), "tallyman-nats-"));
    const peers = routes.map((port) => `"nats-route://127.0.0.1:${port}"`).join(", ");
    const cluster =
      clusterPort === undefined
        ? ""
        : `cluster { name: test, listen: "127.0.0.1:${clusterPort}", routes: [${peers}] }`;
    const server = new NatsServer(name, await servingPort(), folder, cluster);
    await server.run();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** Starts the process, on the same port and store as before. */
  async run(): Promise<void> {
    const file = join(this.#folder, "nats.conf");
    const store = join(this.#folder, "store");
    const lines = [
      `server_name: ${this.name}`,
      `listen: "127.0.0.1:${this.port}"`,
      `jetstream { store_dir: "${store}" }`,
      this.#cluster,
    ];
    await writeFile(file, lines.join("\n"));
    const child = spawn(natsProgram() ?? "nats-server", ["-c", file], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    this.#exit = once(child, "close");
    child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#printed(text));
    await this.#untilPrinted((text) => text.includes(readyLine));
  }

  /** Waits until this server knows a leader of JetStream's cluster. */
  untilLed(): Promise<void> {
    return this.#untilPrinted((text) => metaLeaderPattern.test(text));
  }

  /** Ends the process as a power cut would. */
  async kill(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#exit;
    this.#output.length = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #untilPrinted(isThere: (text: string) => boolean): Promise<void> {
    const wait = async () => {
      while (!isThere(this.#output.join(""))) {
        const printed = deferred();
        this.#waiting.add(printed.resolve);
        await printed.promise;
      }
    };
    await withTimeout(wait(), startTimeoutMs, `nats-server ${this.name}`);
  }

  #printed(text: string): void {
    this.#output.push(text);
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** Several servers that form one cluster. */
export interface NatsCluster extends AsyncDisposable {
  readonly servers: readonly NatsServer[];
  /** All of them, for a client. */
  readonly url: string;
}

/** Starts a cluster on loopback and waits until JetStream has a leader. */
export async function startNatsCluster(size = 3): Promise<NatsCluster> {
  const routes: number[] = [];
  while (routes.length < size) {
    const port = await servingPort();
    if (!routes.includes(port)) routes.push(port);
  }
  const servers = await Promise.all(
    routes.map((clusterPort, i) => NatsServer.start({ name: `n${i + 1}`, clusterPort, routes })),
  );
  const dispose = async () => {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  };
  try {
    await Promise.all(servers.map((server) => server.untilLed()));
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    servers,
    url: servers.map((server) => server.url).join(","),
    [Symbol.asyncDispose]: dispose,
  };
}
