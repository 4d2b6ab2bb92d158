/** The HTTP API as a process of its own; prints its address. */
import { Tallyman } from "../../src/app/index.ts";
import { runUntilSignal } from "../../src/runtime/index.ts";
import { createServer } from "../../src/server/index.ts";

await using tallyman = await Tallyman.connect({ database: process.argv[2] ?? "" });
const server = createServer(tallyman, { port: 0, requestsPerSecondMax: 1_000_000 });
await server.start();
console.log(server.url);
await runUntilSignal([server]);
