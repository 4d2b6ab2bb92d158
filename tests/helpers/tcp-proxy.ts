import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Which way data goes: from the client to the server, or back. */
export type Direction = "requests" | "answers";

/** A client's connection and the one behind it. */
interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
}

/** A TCP proxy on loopback before one server, which can cut or hold up its connections at a chosen moment. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #cut: { readonly text: string; readonly done: () => void } | undefined;
  #held: Direction | undefined;
  #holdFrom: { readonly text: string; readonly begun: () => void } | undefined;
  #isDown = false;

  private constructor(target: () => URL) {
    this.#server = createServer((client) => {
      if (this.#isDown) return void client.destroy();
      const { port, hostname } = target();
      this.#join({ client, upstream: connect(Number(port), hostname) });
    });
  }

  /** @param url of the server; a function when it may move */
  static async start(url: string | (() => string)): Promise<{ proxy: TcpProxy; url: string }> {
    const target = () => new URL(typeof url === "string" ? url : url());
    const proxy = new TcpProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    const own = target();
    own.port = String((proxy.#server.address() as { port: number }).port);
    return { proxy, url: own.toString() };
  }

  /**
   * Cuts the connection that sends this text, after the server has it and before its answer arrives. Resolves
   * when that has happened.
   */
  cutAfter(text: string): Promise<void> {
    return new Promise((done) => {
      this.#cut = { text, done };
    });
  }

  /** Takes {@link cutAfter} back, if it has not happened yet. */
  spare(): void {
    this.#cut = undefined;
  }

  /** Lets nothing pass this way, on connections old and new, until {@link release}; nothing is lost by it. */
  hold(direction: Direction): void {
    this.#held = direction;
    for (const pair of this.#pairs) sourceOf(pair, direction).pause();
  }

  /** Like {@link hold}, from the request on that holds this text; that one is held too. Resolves when it begins. */
  holdFrom(text: string): Promise<void> {
    return new Promise((begun) => {
      this.#holdFrom = { text, begun };
    });
  }

  /** Lets everything pass again, first what was held. */
  release(): void {
    this.#held = undefined;
    this.#holdFrom = undefined;
    for (const { client, upstream } of this.#pairs) {
      client.resume();
      upstream.resume();
    }
  }

  /** Ends all connections; what was held is lost. */
  cutAll(): void {
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
  }

  /** Ends all connections and refuses new ones, until {@link comeUp}. */
  goDown(): void {
    this.#isDown = true;
    this.cutAll();
  }

  comeUp(): void {
    this.#isDown = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cutAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(pair: Pair): void {
    const { client, upstream } = pair;
    this.#pairs.add(pair);
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    client.on("data", (data) => {
      if (this.#beginsToHold(client, data)) return;
      upstream.write(data);
      this.#cutIfTold(pair, data);
    });
    upstream.on("data", (data) => client.write(data));
    client.once("close", () => {
      this.#pairs.delete(pair);
      upstream.end();
    });
    upstream.once("close", () => client.destroy());
    if (this.#held) sourceOf(pair, this.#held).pause();
  }

  #beginsToHold(client: Socket, data: Buffer): boolean {
    if (!this.#holdFrom || !data.includes(this.#holdFrom.text)) return false;
    const { begun } = this.#holdFrom;
    this.#holdFrom = undefined;
    this.hold("requests");
    client.unshift(data);
    begun();
    return true;
  }

  #cutIfTold({ client, upstream }: Pair, data: Buffer): void {
    if (!this.#cut || !data.includes(this.#cut.text)) return;
    const { done } = this.#cut;
    this.#cut = undefined;
    // The server gets the statement; its answer never reaches the client.
    upstream.removeAllListeners("data");
    upstream.once("data", () => {
      client.destroy();
      done();
    });
  }
}

function sourceOf({ client, upstream }: Pair, direction: Direction): Socket {
  return direction === "requests" ? client : upstream;
}
