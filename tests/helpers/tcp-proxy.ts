import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** A TCP proxy on loopback before one server, which can cut its connections at a chosen moment. */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cutAfter: string | undefined;
  #isDown = false;

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      if (this.#isDown) {
        client.destroy();
        return;
      }
      const upstream = connect(Number(target.port), target.hostname);
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.once("close", () => this.#sockets.delete(socket));
      }
      client.on("data", (data) => {
        upstream.write(data);
        if (this.#cutAfter === undefined || !data.includes(this.#cutAfter)) return;
        this.#cutAfter = undefined;
        // The server gets the statement; its answer never reaches the client.
        upstream.removeAllListeners("data");
        upstream.once("data", () => client.destroy());
      });
      upstream.on("data", (data) => client.write(data));
      client.once("close", () => upstream.end());
      upstream.once("close", () => client.destroy());
    });
  }

  static async start(url: string): Promise<{ proxy: TcpProxy; url: string }> {
    const proxy = new TcpProxy(new URL(url));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    const own = new URL(url);
    own.port = String((proxy.#server.address() as { port: number }).port);
    return { proxy, url: own.toString() };
  }

  /** Cuts the connection that sends this text, after the server has it and before its answer arrives. */
  cutAfter(text: string): void {
    this.#cutAfter = text;
  }

  /** Ends all connections and refuses new ones, until {@link comeUp}. */
  goDown(): void {
    this.#isDown = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  comeUp(): void {
    this.#isDown = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
