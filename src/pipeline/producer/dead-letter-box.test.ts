import { expect, it } from "vitest";
import type { DeadLetterMessage } from "../../contracts/index.ts";
import { ErrorLog } from "../../monitoring/index.ts";
import type { TopicWriter } from "../../topics/index.ts";
import { DeadLetterBox } from "./dead-letter-box.ts";
import { jsonFormat } from "./record-format.ts";

it("tells equal records of two runs apart, and recognises one that was sent before", async () => {
  const keys: string[] = [];
  const topic: Partial<TopicWriter<DeadLetterMessage>> = {
    sendMany: async (letters) => {
      keys.push(...letters.map(({ key = "" }) => key));
      return letters.map(() => "sent" as const);
    },
  };
  const kind = { format: jsonFormat<{ n: number }>(), sequenceOf: ({ n }: { n: number }) => n };
  const box = new DeadLetterBox("writer", topic as TopicWriter<DeadLetterMessage>, kind, new ErrorLog());
  const longest = "x".repeat(10_000);
  for (const runId of ["run-1", "run-2", "run-1", longest])
    await box.send([{ n: 1 }], { runId, error: new Error("no"), retryCount: 0 });
  const [first, other, again, ofLongest] = keys;
  expect(again).toBe(first);
  expect(new Set(keys).size).toBe(3);
  expect([other, ofLongest].every((key = "") => key.length < 512)).toBe(true);
});
