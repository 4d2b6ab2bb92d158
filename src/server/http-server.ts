import type { AddressInfo } from "node:net";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import { fastify } from "fastify";
import type { Tallyman } from "../app/index.ts";
import { TallymanError } from "../errors/index.ts";
import { MonitoredService } from "../monitoring/index.ts";
import { type GivenOptions, resolveOptions, sleep, wholeNumber } from "../runtime/index.ts";
import { refuseOtherSites, refusePublicBind } from "./access.ts";
import { reportError, reportUnknownRoute } from "./report-error.ts";
import type { RouteContext } from "./route-context.ts";
import { coordinatorRoutes } from "./routes/coordinators.ts";
import { healthRoutes } from "./routes/health.ts";
import { schedulerWorkerRoutes } from "./routes/scheduler-workers.ts";
import { segmentRoutes } from "./routes/segments.ts";

/** Every file of routes. */
const resources = [healthRoutes, coordinatorRoutes, schedulerWorkerRoutes, segmentRoutes];

const requestTimeoutMs = 30_000;
const keepAliveMs = 5_000;

/** Settings of an {@link HttpServer}. */
export interface HttpServerOptions {
  /** Where to listen; loopback only, until there are access tokens. Default 127.0.0.1. */
  readonly host: string;
  /** Port; 0 picks a free one. Default 8082. */
  readonly port: number;
  /** Largest body of a request. Default 1 MiB. */
  readonly bodyBytesMax: number;
  /** Silence after which a worker that registers over HTTP is UNHEALTHY. Default 60 s. */
  readonly heartbeatTimeoutMs: number;
}

const defaults: HttpServerOptions = {
  host: "127.0.0.1",
  port: 8082,
  bodyBytesMax: 1_048_576,
  heartbeatTimeoutMs: 60_000,
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
  #app: ReturnType<typeof buildApp> | undefined;
  #port: number | undefined;

  constructor(tallyman: Tallyman, given: GivenOptions<HttpServerOptions> = {}) {
    super("server.http");
    this.#options = resolveOptions<HttpServerOptions>(defaults, given, {
      port: wholeNumber({ min: 0, max: 65_535 }),
    });
    refusePublicBind(this.#options.host);
    this.#context = { tallyman, heartbeatTimeoutMs: this.#options.heartbeatTimeoutMs };
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

  protected override async onStart(): Promise<void> {
    const { host, port } = this.#options;
    this.#app = buildApp(this.#context, this.#options);
    await this.#app.listen({ host, port }).catch((cause: NodeJS.ErrnoException) => {
      throw cause.code === "EADDRINUSE" ? portTaken(port, cause) : cause;
    });
    this.#port = (this.#app.server.address() as AddressInfo).port;
  }

  /** Requests come by themselves. */
  protected override runOnce(signal: AbortSignal): Promise<void> {
    return sleep(Number.POSITIVE_INFINITY, signal);
  }

  protected override async onStop(): Promise<void> {
    await this.#app?.close();
    this.#app = undefined;
    this.#port = undefined;
  }
}

/**
 * Makes the HTTP API of an opened Tallyman; whoever calls this starts and stops it.
 *
 * @throws TallymanError PUBLIC_BIND_REFUSED for an address that other machines reach; INVALID_OPTION
 */
export function createServer(tallyman: Tallyman, options: GivenOptions<HttpServerOptions> = {}): HttpServer {
  return new HttpServer(tallyman, options);
}

function buildApp(context: RouteContext, { bodyBytesMax }: HttpServerOptions) {
  const app = fastify({
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    forceCloseConnections: "idle",
    routerOptions: { ignoreTrailingSlash: true },
    // A parameter that nobody knows is a mistake to be told, not to be dropped.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: true } },
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.addHook("onRequest", refuseOtherSites);
  app.setErrorHandler(reportError);
  app.setNotFoundHandler(reportUnknownRoute);
  for (const routes of resources) routes(app, context);
  return app;
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
