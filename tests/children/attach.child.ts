/**
 * Attaches to the embedded database in the folder of argv[2] and works until SIGTERM: prints
 * "attached", then "worked N" after every tenth statement that succeeded.
 */
import { Database, EmbeddedServer } from "../../src/database/index.ts";
import { sleep } from "../../src/runtime/index.ts";

const server = await EmbeddedServer.attach({ folder: process.argv[2] ?? "" });
const database = await Database.connect({ url: server.url(), listenUrl: null }, server);
process.stdout.write(`attached ${server.port}\n`);

let stopping = false;
process.once("SIGTERM", () => {
  stopping = true;
});
for (let worked = 1; !stopping; worked++) {
  await database.query("SELECT 1").catch(() => undefined);
  if (worked % 10 === 0) process.stdout.write(`worked ${worked}\n`);
  await sleep(2);
}
await database.close();
await server.close();
process.stdout.write("left\n");
