/*
 * A topic driver of one's own (drivers/memory-topics.ts), put through the cases that the built-in drivers pass.
 *
 *   node --import tsx examples/13-own-topic.ts
 *
 * Needs nothing, not even a database. docs/guides/own-topic.md explains it.
 */
import { topicConformance } from "../src/testing/index.ts";
import { Memory } from "./drivers/memory.ts";
import { capabilities } from "./drivers/memory-ends.ts";
import { MemoryTopics } from "./drivers/memory-topics.ts";

const cases = topicConformance({
  capabilities,
  canCrash: false, // one process is all it has
  messages: 1_000,
  open: async () => {
    const memory = new Memory();
    const topics = new MemoryTopics(memory);
    return {
      topics,
      connect: async () => new MemoryTopics(memory),
      [Symbol.asyncDispose]: () => topics.close(),
    };
  },
});
for (const { name, isSkipped, run } of cases) {
  if (!isSkipped) await run();
  console.log(isSkipped ? name : `ok: ${name}`);
}
console.log("every case passed");
