import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { EventStream } from "./event-stream.ts";

const event = { id: "a:1", topic: "overview", data: JSON.stringify("x".repeat(100_000)) };

/** An event stream to a client that reads, or does not. */
async function open(reads: boolean) {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  if (reads) socket.resume();
  else socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const [, response] = await once(server, "request");
  const close = () => {
    socket.destroy();
    server.close();
  };
  return { stream: new EventStream(response, {}), response, close };
}

describe("EventStream", () => {
  it("sends a client away that does not read, with little waiting for it", async () => {
    const { stream, response, close } = await open(false);
    let sent = 0;
    while (stream.send(event)) {
      sent++;
      expect(response.writableLength).toBeLessThan(500_000);
      expect(sent).toBeLessThan(1_000);
      await sleep(0);
    }
    expect(response.destroyed).toBe(true);
    expect(stream.send(event)).toBe(false);
    close();
  });

  it("keeps a client that reads", async () => {
    const { stream, response, close } = await open(true);
    for (let n = 0; n < 100; n++) {
      expect(stream.send(event)).toBe(true);
      while (response.writableLength > 0) await sleep(0);
    }
    close();
  });
});
