import { expect, it } from "vitest";
import type { BatchCoordinatorReady, LedgerEntry } from "../../coordination/index.ts";
import type { Database } from "../../database/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { Flusher } from "./flusher.ts";

const filename = "batch_0000000000000000000_0000000000000000000.pb";
const file = { filename, storageKey: filename, tickStart: 0, tickEnd: 0, claimVersion: 1, resumeAt: 0 };
const flush = {
  ticks: [],
  steps: [{ file: { ...file, message: undefined }, from: 0, to: 0, completes: true }],
};

/** A flush of an empty file whose COMMIT got no answer, while the ledger says this. */
function flushInDoubt(status: LedgerEntry["status"]) {
  const database = {
    forRun: () => ({ transaction: () => Promise.reject(new TallymanError("COMMIT_UNKNOWN", "Broken.")) }),
  };
  const entry = { filename, status, instanceId: "me", claimVersion: 1, resumeAt: 0 };
  const coordinator: Partial<BatchCoordinatorReady> = { readSettled: async () => [entry] };
  const flusher = new Flusher<never>({
    database: database as unknown as Database,
    coordinator: coordinator as BatchCoordinatorReady,
    topic: undefined,
    idempotency: undefined,
    writeTicks: async () => undefined,
  });
  return flusher.flush("run-1", flush);
}

it("takes an empty file for committed only when the ledger says so: its position tells nothing", async () => {
  expect(await flushInDoubt("claimed")).toEqual({ kind: "lost", files: [] });
  expect(await flushInDoubt("completed")).toEqual({ kind: "committed", acknowledged: [] });
});
