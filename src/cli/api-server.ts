import type { Command } from "commander";
import type { Config, Tallyman } from "../app/index.ts";
import { createServer, type HttpServer } from "../server/index.ts";

/** Adds the flags of a command that serves the HTTP API. */
export function withServerFlags(command: Command): Command {
  return command
    .option("--port <n>", "port of the HTTP API; 0 picks a free one (default: server.port, 8082)")
    .option("--host <address>", "address to listen on (default: server.host, 127.0.0.1)");
}

/** The HTTP API as configured, not started yet; whoever calls this starts and stops it. */
export function configuredServer(tallyman: Tallyman, { server, scheduler }: Config): HttpServer {
  const { heartbeatTimeout: heartbeatTimeoutMs } = scheduler.coordinator;
  const api = createServer(tallyman, { ...server, heartbeatTimeoutMs });
  tallyman.metrics.register("service", "http-server", api);
  return api;
}
