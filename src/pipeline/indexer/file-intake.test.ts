import { create } from "@bufbuild/protobuf";
import { expect, it, vi } from "vitest";
import { type BatchInfo, BatchInfoSchema, type TickDataSchema } from "../../contracts/index.ts";
import type { TopicMessage, TopicReader } from "../../topics/index.ts";
import { Admission } from "./admission.ts";
import { FileIntake } from "./file-intake.ts";
import type { FileReader } from "./file-reader.ts";

const storageKey = "run-1/raw/000/000/batch_0000000000000000000_0000000000000000009.pb";

/** An intake that polls one announcement, and whose ledger fails until it is mended. */
function open() {
  const payload = create(BatchInfoSchema, { simulationRunId: "run-1", storageKey, tickEnd: 9n });
  const message = { position: 1, runId: "run-1", payload } as TopicMessage<BatchInfo>;
  const pollMany = vi.fn(async () => [] as TopicMessage<BatchInfo>[]).mockResolvedValueOnce([message]);
  const topic = { pollMany, nack: vi.fn(async () => undefined) } as Partial<TopicReader<BatchInfo>>;
  const admission = new Admission({
    topic: topic as TopicReader<BatchInfo>,
    coordinator: undefined,
    idempotency: undefined,
  });
  vi.spyOn(admission, "admit").mockRejectedValueOnce(new Error("Connection terminated"));
  const reader: Partial<FileReader<typeof TickDataSchema>> = {
    next: async () => undefined,
    enqueue: () => undefined,
  };
  const intake = new FileIntake({
    admission,
    reader: reader as FileReader<typeof TickDataSchema>,
    topic: topic as TopicReader<BatchInfo>,
    recovery: undefined,
    gapIntervalMs: 1,
    sweepIntervalMs: 1,
  });
  return {
    intake,
    admission,
    topic,
    message,
    next: () => intake.next(0, AbortSignal.timeout(60_000)),
  };
}

it("admits what it had polled before an outage, before it polls again", async () => {
  const { admission, topic, next } = open();
  await expect(next()).rejects.toThrow("terminated");
  expect(admission.files.size).toBe(0);
  await next();
  expect([...admission.files.values()]).toMatchObject([{ storageKey, message: { position: 1 } }]);
  expect(topic.pollMany).toHaveBeenCalledTimes(1);
  await next();
  expect(topic.pollMany).toHaveBeenCalledTimes(2);
});

it("hands back what an outage kept it from admitting, once", async () => {
  const { intake, topic, message, next } = open();
  await expect(next()).rejects.toThrow("terminated");
  await intake.giveBack();
  await intake.giveBack();
  expect(topic.nack).toHaveBeenCalledExactlyOnceWith(message, { delayMs: 0 });
});
