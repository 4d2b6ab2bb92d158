import type { Socket } from "node:net";
import pg from "pg";
import { backoffMs, logger, sleep } from "../runtime/index.ts";
import { keepAlive } from "./keep-alive.ts";
import { quoteIdentifier } from "./schema-names.ts";

const log = logger("database.listener");
const connectTimeoutMs = 10_000;
const reconnectBackoff = { initialMs: 50, maxMs: 5_000, factor: 2, jitter: 0.5 };

/** Called for a notification; with an empty payload also after a reconnect, when some may be missed. */
export type HintHandler = (payload: string) => void;

/**
 * LISTEN on a direct connection of its own, opened with the first subscription. A notification is
 * only a hint that there may be work: subscribers poll as well, so that a lost connection or a
 * PgBouncer in between costs delay, never work. After a reconnect every subscriber gets one hint.
 */
export class Listener {
  #url: string | null;
  readonly #handlers = new Map<string, Set<HintHandler>>();
  readonly #stopped = new AbortController();
  #client: pg.Client | undefined;
  #loop: Promise<void> | undefined;

  /** @param url a direct connection to the server; null: never connect, subscribers poll */
  constructor(url: string | null) {
    this.#url = url;
  }

  /** Whether hints arrive at this moment; without them subscribers depend on their polling. */
  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /** Subscribes to a channel until the returned function is called. */
  subscribe(channel: string, handler: HintHandler): () => void {
    const handlers = this.#handlers.get(channel) ?? new Set();
    this.#handlers.set(channel, handlers);
    if (handlers.size === 0) this.#send(`LISTEN ${quoteIdentifier(channel)}`);
    handlers.add(handler);
    if (this.#url !== null && !this.#stopped.signal.aborted) this.#loop ??= this.#keepConnected();
    return () => this.#unsubscribe(channel, handler);
  }

  /** The server has moved, e.g. an embedded one came back on another port. */
  moveTo(url: string): void {
    if (this.#url !== null) this.#url = url;
  }

  /** Ends the connection. Safe to call twice. */
  async close(): Promise<void> {
    this.#stopped.abort();
    this.#handlers.clear();
    await this.#client?.end().catch(() => undefined);
    await this.#loop;
  }

  #unsubscribe(channel: string, handler: HintHandler): void {
    const handlers = this.#handlers.get(channel);
    if (!handlers?.delete(handler) || handlers.size > 0) return;
    this.#handlers.delete(channel);
    this.#send(`UNLISTEN ${quoteIdentifier(channel)}`);
  }

  #send(text: string): void {
    // A failure here means that the connection is lost; the reconnect listens to everything again.
    this.#client?.query(text).catch(() => undefined);
  }

  async #keepConnected(): Promise<void> {
    for (let attempt = 1; !this.#stopped.signal.aborted; attempt++) {
      try {
        await this.#connectUntilLost(() => {
          attempt = 0;
        });
      } catch (error) {
        log.debug("No connection for LISTEN, polling meanwhile", { reason: String(error) });
      }
      await sleep(backoffMs(Math.max(attempt, 1), reconnectBackoff), this.#stopped.signal).catch(
        () => undefined,
      );
    }
  }

  async #connectUntilLost(onConnected: () => void): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url ?? "",
      application_name: "tallyman listen",
      ...keepAlive,
      connectionTimeoutMillis: connectTimeoutMs,
      pipeline: true,
    } as pg.ClientConfig);
    const giveUp = () =>
      (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
    this.#stopped.signal.addEventListener("abort", giveUp, { once: true });
    const lost = new Promise<void>((resolve) => {
      client.on("error", () => resolve());
      client.once("end", () => resolve());
    });
    client.on("notification", ({ channel, payload }) => this.#hint(channel, payload ?? ""));
    try {
      await client.connect();
      for (const channel of this.#handlers.keys()) await client.query(`LISTEN ${quoteIdentifier(channel)}`);
      this.#client = client;
      onConnected();
      if (this.#stopped.signal.aborted) return;
      for (const channel of this.#handlers.keys()) this.#hint(channel, "");
      await lost;
    } finally {
      this.#client = undefined;
      this.#stopped.signal.removeEventListener("abort", giveUp);
      await client.end().catch(() => undefined);
    }
  }

  #hint(channel: string, payload: string): void {
    for (const handler of this.#handlers.get(channel) ?? []) {
      try {
        handler(payload);
      } catch (error) {
        log.error("A subscriber failed on a hint", { channel, error });
      }
    }
  }
}
