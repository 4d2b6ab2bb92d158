import { createServer } from "node:net";

/** Below those that systems give to outgoing connections. */
const ports = { first: 10_000, count: 20_000 };
const attemptsMax = 100;

/**
 * A free port on loopback for a server that goes away and comes back to it: meanwhile no connection gets it by
 * chance.
 */
export async function servingPort(): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const port = ports.first + Math.floor(Math.random() * ports.count);
    if (await isFree(port)) return port;
  }
  throw new Error("no free port on loopback");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
