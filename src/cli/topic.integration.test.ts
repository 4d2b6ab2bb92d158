import { expect, it } from "vitest";
import { runHere } from "../../tests/kit/cli.ts";
import { BatchInfoSchema } from "../contracts/index.ts";
import { setup } from "../testing/index.ts";
import { PostgresTopics } from "../topics/index.ts";

it("sets how long a topic keeps messages, and deletes a group only when told twice", async () => {
  await using t = await setup();
  await using topics = new PostgresTopics(t.database);
  await topics.reader(BatchInfoSchema, { topic: "batch-topic", group: "indexer" });
  const topic = (...args: string[]) => runHere("topic", ...args, "--database-url", t.url);

  const kept = await topic("retention", "batch-topic", "7d", "--json");
  expect(JSON.parse(kept.text)).toEqual({ topic: "batch-topic", retentionMs: 604_800_000 });
  expect((await topic("list")).text).toMatch(/\nbatch-topic .* 7 d/);
  expect((await topic("retention", "batch-topic", "forever")).text).toBe(
    "Topic batch-topic keeps acknowledged messages for ever.",
  );
  expect(await topics.listTopics()).toMatchObject([{ retentionMs: null }]);
  expect(await topic("retention", "batch-topic", "7 weeks")).toMatchObject({
    code: 2,
    errors: expect.stringContaining("such as 7d, 12h, 30min, 90s or 500ms"),
  });
  expect((await topic("retention", "nowhere", "7d")).code).toBe(3);

  expect(await topic("delete-group", "batch-topic", "indexer")).toMatchObject({
    code: 2,
    text: "Group indexer of topic batch-topic has 0 messages before it. Nothing was deleted: add --yes to do it.",
  });
  expect(await topics.listGroups("batch-topic")).toHaveLength(1);
  expect((await topic("delete-group", "batch-topic", "indexer", "--yes")).code).toBe(0);
  expect(await topics.listGroups("batch-topic")).toEqual([]);
  expect(await topic("delete-group", "batch-topic", "indexer", "--yes")).toMatchObject({
    code: 3,
    errors: expect.stringContaining("[TOPIC_GROUP_NOT_FOUND]"),
  });
});
