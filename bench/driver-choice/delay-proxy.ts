import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Passes bytes on after `delayMs`, in order: a stand-in for the network between worker and database. */
function forward(source: Socket, target: Socket, delayMs: number): void {
  source.setNoDelay(true);
  source.on("data", (bytes) => setTimeout(() => target.write(bytes), delayMs));
  source.on("close", () => setTimeout(() => target.destroy(), delayMs));
  source.on("error", () => target.destroy());
}

/** A URL that reaches the same database with `delayMs` added each way; 0 is the direct connection. */
export async function withDelay(url: string, delayMs: number): Promise<AsyncDisposable & { url: string }> {
  if (delayMs === 0) return { url, [Symbol.asyncDispose]: async () => {} };
  const target = new URL(url);
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    forward(client, upstream, delayMs);
    forward(upstream, client, delayMs);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String((server.address() as AddressInfo).port);
  return {
    url: through.href,
    [Symbol.asyncDispose]: async () => {
      server.close();
    },
  };
}
