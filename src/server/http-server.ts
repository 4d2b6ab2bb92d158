import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { RouteContext } from "../api/index.ts";
import type { Tallyman } from "../app/index.ts";
import { TallymanError } from "../errors/index.ts";
import { MonitoredService } from "../monitoring/index.ts";
import { type GivenOptions, resolveOptions, sleep, wholeNumber } from "../runtime/index.ts";
import { refusePublicBind } from "./access.ts";
import { buildApp } from "./build-app.ts";
import { EventHub } from "./events/event-hub.ts";
import { OverviewSampler } from "./overview-sampler.ts";

/** Settings of an {@link HttpServer}. */
export interface HttpServerOptions {
  /** Where to listen; other than loopback only with access tokens. Default 127.0.0.1. */
  readonly host: string;
  /** Port; 0 picks a free one. Default 8082. */
  readonly port: number;
  /**
   * Address by which others reach it through a proxy that speaks TLS, such as `https://tallyman.example`: pages of
   * that address may use the API, and everybody is asked for a token. Default: no proxy.
   */
  readonly publicUrl?: string;
  /** Largest body of a request. Default 1 MiB. */
  readonly bodyBytesMax: number;
  /** Largest body of an import of commands. Default 256 MiB. */
  readonly importBytesMax: number;
  /** Longest time until a request's headers are there. Default 10 s. */
  readonly headersTimeoutMs: number;
  /** Longest time until a whole request is there, an import too. Default 5 minutes. */
  readonly requestTimeoutMs: number;
  /** Requests that one address may send per second. Default 10,000. */
  readonly requestsPerSecondMax: number;
  /** Silence after which a worker that registers over HTTP is UNHEALTHY. Default 60 s. */
  readonly heartbeatTimeoutMs: number;
  /** Fields of payloads that nobody is shown, by name; those with secret-looking names never are. Default none. */
  readonly redactedFields: readonly string[];
}

const defaults = {
  host: "127.0.0.1",
  port: 8082,
  bodyBytesMax: 1_048_576,
  importBytesMax: 268_435_456,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 300_000,
  requestsPerSecondMax: 10_000,
  heartbeatTimeoutMs: 60_000,
  publicUrl: undefined,
  redactedFields: [],
};

/**
 * The HTTP API of one process. Listens from start() to stop(); running requests end before stop() does.
 *
 * @example
 * ```ts
 * await using server = createServer(tallyman, { port: 8082 });
 * await server.start();
 * await fetch(`${server.url}/healthz`);
 * ```
 */
export class HttpServer extends MonitoredService {
  readonly #options: Readonly<HttpServerOptions>;
  readonly #context: RouteContext;
  readonly #sampler: OverviewSampler;
  #app: FastifyInstance | undefined;
  #events: EventHub | undefined;
  #port: number | undefined;

  constructor(tallyman: Tallyman, given: GivenOptions<HttpServerOptions> = {}) {
    super("server.http");
    this.#options = resolveOptions<HttpServerOptions>(defaults, given, {
      port: wholeNumber({ min: 0, max: 65_535 }),
      publicUrl: validUrl,
    });
    const { heartbeatTimeoutMs, redactedFields } = this.#options;
    this.#sampler = new OverviewSampler(tallyman);
    const samples = () => this.#sampler.samples;
    this.#context = { tallyman, heartbeatTimeoutMs, redactedFields, samples };
  }

  get host(): string {
    return this.#options.host;
  }

  /**
   * The port it listens on.
   *
   * @throws TallymanError INVALID_STATE unless started
   */
  get port(): number {
    if (this.#port === undefined)
      throw new TallymanError("INVALID_STATE", "The HTTP server has no port before it is started.");
    return this.#port;
  }

  /** Address of the API, without a slash at the end. */
  get url(): string {
    return `http://${this.host.includes(":") ? `[${this.host}]` : this.host}:${this.port}`;
  }

  /** Its own figures, and those of the whole system; see {@link OverviewSampler}. */
  override getMetrics(): Readonly<Record<string, number>> {
    return { ...super.getMetrics(), ...this.#sampler.metrics };
  }

  protected override async onStart(): Promise<void> {
    const { host, port } = this.#options;
    await refusePublicBind(this.#options, this.#context.tallyman.tokens);
    this.#events = new EventHub(this.#context);
    this.#app = await buildApp(this.#context, this.#options, this.#events);
    await this.#app.listen({ host, port }).catch((cause: NodeJS.ErrnoException) => {
      throw cause.code === "EADDRINUSE" ? portTaken(port, cause) : cause;
    });
    this.#sampler.start();
    this.#port = (this.#app.server.address() as AddressInfo).port;
  }

  /** Requests come by themselves. */
  protected override runOnce(signal: AbortSignal): Promise<void> {
    return sleep(Number.POSITIVE_INFINITY, signal);
  }

  protected override async onStop(): Promise<void> {
    await this.#sampler.stop();
    await this.#events?.close();
    await this.#app?.close();
    this.#app = undefined;
    this.#port = undefined;
  }
}

/**
 * Makes the HTTP API of an opened Tallyman; whoever calls this starts and stops it. Its start() fails with
 * PUBLIC_BIND_REFUSED for an address that other machines reach while there are no access tokens.
 *
 * @throws TallymanError INVALID_OPTION
 */
export function createServer(tallyman: Tallyman, options: GivenOptions<HttpServerOptions> = {}): HttpServer {
  return new HttpServer(tallyman, options);
}

function validUrl(url: string): string | undefined {
  const isPlain =
    URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && new URL(url).pathname === "/";
  return isPlain ? undefined : "an address such as https://tallyman.example";
}

function portTaken(port: number, cause: Error): TallymanError {
  return new TallymanError(
    "PORT_TAKEN",
    `Port ${port} is taken by another process. Choose another with --port.`,
    {
      cause,
      details: { port },
    },
  );
}
