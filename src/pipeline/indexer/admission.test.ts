import { expect, it, vi } from "vitest";
import type { BatchInfo } from "../../contracts/index.ts";
import type { BatchCoordinatorReady } from "../../coordination/index.ts";
import type { TopicMessage, TopicReader } from "../../topics/index.ts";
import { Admission } from "./admission.ts";

it("takes on what it was granted although the message of a refused file can't be settled", async () => {
  const granted = { filename: "a", claimVersion: 1, resumeAt: 0, attempts: 1 };
  const coordinator: Partial<BatchCoordinatorReady> = {
    registerFiles: async () => [],
    tryClaimMany: async () => ({ granted: [granted], refused: [{ filename: "b", status: "completed" }] }),
  };
  const topic: Partial<TopicReader<BatchInfo>> = {
    ack: () => Promise.reject(new Error("Connection terminated unexpectedly")),
  };
  const admission = new Admission({
    coordinator: coordinator as BatchCoordinatorReady,
    topic: topic as TopicReader<BatchInfo>,
    idempotency: undefined,
  });
  const message = { position: 1 } as TopicMessage<BatchInfo>;
  const files = ["a", "b"].map((filename) => ({
    filename,
    storageKey: filename,
    tickStart: 0,
    tickEnd: 9,
    message,
  }));
  expect((await admission.admit(files)).map(({ filename }) => filename)).toEqual(["a"]);
  expect([...admission.files.keys()]).toEqual(["a"]);
});

it("gives back what it took over and can't read, for the file was never registered", async () => {
  const releaseClaims = vi.fn(() => Promise.reject(new Error("Connection terminated unexpectedly")));
  const taken = { claimVersion: 2, resumeAt: 0, attempts: 2, tickStart: 0, tickEnd: 9, crc: null };
  const coordinator: Partial<BatchCoordinatorReady> = {
    takeOverExpired: async () => [
      { ...taken, filename: "a", storageKey: null },
      { ...taken, filename: "b", storageKey: "run-1/b" },
    ],
    releaseClaims,
  };
  const admission = new Admission({
    coordinator: coordinator as BatchCoordinatorReady,
    topic: undefined,
    idempotency: undefined,
  });
  expect((await admission.takeOver(4)).map(({ filename }) => filename)).toEqual(["b"]);
  expect(releaseClaims).toHaveBeenCalledWith(["a"], { delayMs: expect.any(Number) });
});
