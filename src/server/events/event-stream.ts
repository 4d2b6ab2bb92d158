import type { ServerResponse } from "node:http";
import type { HubEvent } from "./event-hub.ts";

/** Bytes that may wait for a client; one that reads slower is sent away, and comes back for the present state. */
const waitingBytesMax = 262_144;
const reconnectMs = 2_000;

/** An answer that never ends: events for one client, as its connection takes them. */
export class EventStream {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse, headers: Readonly<Record<string, string>>) {
    this.#response = response;
    response.writeHead(200, {
      ...headers,
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      // Kept for another request, it would hold up a server that stops.
      connection: "close",
    });
    response.write(`retry: ${reconnectMs}\n\n`);
  }

  /** Sends an event; false when the client is gone, or was sent away for it does not read. */
  send({ id, topic, data }: HubEvent): boolean {
    return this.#write(`id: ${id}\nevent: ${topic}\ndata: ${data}\n\n`);
  }

  /** Keeps proxies from closing a connection on which nothing happens. */
  heartbeat(): void {
    this.#write(": still here\n\n");
  }

  #write(text: string): boolean {
    const response = this.#response;
    if (response.destroyed) return false;
    if (response.writableLength > waitingBytesMax) {
      response.destroy();
      return false;
    }
    response.write(text);
    return true;
  }
}
