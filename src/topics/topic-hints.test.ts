import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Database } from "../database/index.ts";
import { TopicHints } from "./topic-hints.ts";

it("sends the first hint at once, one for all that follow soon, and one per topic", async () => {
  const sent: unknown[] = [];
  const database = {
    names: { schema: "tallyman" },
    query: async (_text: string, values: unknown[]) => void sent.push(values[1]),
  } as unknown as Database;
  const hints = new TopicHints(database);
  for (let n = 0; n < 5; n++) hints.notify(1);
  hints.notify(2);
  expect(sent).toEqual(["tallyman:1", "tallyman:2"]);
  await hints.close();
  expect(sent).toEqual(["tallyman:1", "tallyman:2", "tallyman:1"]);
  hints.notify(1);
  expect(sent).toHaveLength(4);
  await turn();
  hints.notify(1);
  expect(sent).toHaveLength(4);
  await hints.close();
  expect(sent).toHaveLength(5);
});
