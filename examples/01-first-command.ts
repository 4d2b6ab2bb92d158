/*
 * One command, one worker, one reply.
 *
 *   node --import tsx examples/01-first-command.ts
 */
import { configureLogging, Tallyman } from "../src/index.ts";

configureLogging({ level: "warn" });
await using tallyman = await Tallyman.embedded();
const bus = tallyman.commands;

const greet = ({ data }: { data: unknown }) => `Hello, ${(data as { name: string }).name}!`;
await using worker = bus.worker({ domain: "greetings", handlers: { Greet: greet } });
await worker.start();

const commandId = await bus.send("greetings", "Greet", {
  data: { name: "Mia" },
  replyTo: "greetings-replies",
});
for await (const reply of bus.replies("greetings-replies")) {
  if (reply.commandId !== commandId) continue;
  console.log(reply.outcome, reply.result);
  break;
}
