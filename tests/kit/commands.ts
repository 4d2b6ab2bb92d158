import { expect } from "vitest";
import {
  BusinessRuleError,
  CommandBus,
  type CommandHandler,
  isFinished,
  PermanentError,
  type Worker,
  type WorkerOptions,
} from "../../src/commands/index.ts";
import type { Database } from "../../src/database/index.ts";
import type { TestContext } from "../../src/testing/index.ts";

/** Milliseconds between looks at a condition. */
const pollMs = 10;

/** A bus on the test's database, closed with the test. */
export function openBus(t: TestContext, database: Database = t.database): CommandBus {
  return t.use(new CommandBus(database));
}

/** A started worker of domain "d" that retries and polls fast, stopped with the test. */
export async function startWorker(
  t: TestContext,
  bus: CommandBus,
  handlers: Readonly<Record<string, CommandHandler>>,
  options: Partial<WorkerOptions> = {},
): Promise<Worker> {
  const worker = t.use(
    bus.worker({
      domain: "d",
      handlers,
      backoffMs: [0],
      pollIntervalMs: 50,
      maintenanceIntervalMs: 50,
      ...options,
    }),
  );
  await worker.start();
  return worker;
}

/** Commands of type "T" with their number as data. */
export function commands(count: number, more: object = {}) {
  return Array.from({ length: count }, (_, n) => ({ commandType: "T", data: { n }, ...more }));
}

/** Waits until the command is in this state. */
export async function untilStatus(bus: CommandBus, commandId: string, status: string): Promise<void> {
  const now = async () => (await bus.getCommand("d", commandId))?.status;
  await expect.poll(now, { interval: pollMs, timeout: 60_000 }).toBe(status);
}

/** Waits until the batch has completed, and proves its counters. */
export async function untilFinished(bus: CommandBus, batchId: string) {
  const batch = await bus.waitForBatch("d", batchId);
  expect(isFinished(batch)).toBe(true);
  expect((await bus.recount()).miscounts).toEqual([]);
  return batch;
}

/** The event types of a command's history. */
export async function events(bus: CommandBus, commandId: string): Promise<string[]> {
  return (await bus.history("d", commandId)).map(({ eventType }) => eventType);
}

/** The batch's own event types. */
export async function batchEvents(bus: CommandBus, batchId: string): Promise<string[]> {
  return (await bus.batchHistory("d", batchId)).map(({ eventType }) => eventType);
}

/** A handler that does as its data says. */
export function obey({ data }: { data: unknown }) {
  const { n } = data as { n: number };
  if (n % 10 === 1) throw new PermanentError(`item ${n} is broken`);
  if (n % 10 === 2) throw new BusinessRuleError(`item ${n} is refused`);
  return n;
}
