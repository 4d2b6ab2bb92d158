import fc from "fast-check";
import { expect, it } from "vitest";
import { commands, openBus } from "../../tests/kit/commands.ts";
import type { Database } from "../database/index.ts";
import { setup } from "../testing/index.ts";
import { BatchSealedError, type CommandBus } from "./index.ts";
import { type ClaimedRow, claimCommands } from "./sql/claim.ts";
import { type Outcome, settleCommands } from "./sql/settle.ts";

/** More runs with a seed of one's own: INTERLEAVINGS=500 npx vitest run interleaving. */
const numRuns = Number(process.env.INTERLEAVINGS ?? 15);
const seed = Number(process.env.SEED ?? 20_240_501);

type Step =
  | { readonly do: "claim"; readonly worker: number; readonly count: number }
  | { readonly do: "settle"; readonly worker: number; readonly count: number; readonly outcome: Outcome }
  | { readonly do: "expire" }
  | { readonly do: "operate"; readonly action: "retry" | "complete" | "cancel" }
  | { readonly do: "cancelBatch"; readonly batch: number }
  | { readonly do: "add"; readonly batch: number };

const worker = fc.nat(7);
const count = fc.integer({ min: 1, max: 6 });
const outcome = fc.constantFrom<Outcome>(
  "COMPLETED",
  "COMPLETED",
  "FAILED",
  "RETRY",
  "RELEASED",
  "IN_TROUBLESHOOTING_QUEUE",
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("claim" as const), worker, count }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("settle" as const), worker, count, outcome }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("expire" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("operate" as const),
      action: fc.constantFrom("retry" as const, "complete" as const, "cancel" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancelBatch" as const), batch: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("add" as const), batch: fc.nat(3) }) },
);
/** Steps of one wave run at the same time, on connections of their own. */
const waves = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 8 });

/** Eight workers, some of them slow, an operator and a sender on four batches, the last one open. */
class World {
  readonly #database: Database;
  readonly #bus: CommandBus;
  /** What each worker believes to hold; after an expiry it is wrong, and the database must say so. */
  readonly #held: ClaimedRow[][] = Array.from({ length: 8 }, () => []);
  batchIds: string[] = [];

  constructor(database: Database, bus: CommandBus) {
    this.#database = database;
    this.#bus = bus;
  }

  async begin(): Promise<void> {
    await this.#database.query(
      "TRUNCATE tallyman.command_bus_batch, tallyman.command_bus_command, tallyman.command_bus_audit_group, tallyman.command_bus_queue, tallyman.command_bus_lease",
    );
    for (const size of [1, 5, 12]) this.batchIds.push(await this.#bus.createBatch("d", commands(size)));
    this.batchIds.push(await this.#bus.createBatch("d", commands(3), { open: true }));
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case "claim":
        return this.#claim(step.worker, step.count);
      case "settle":
        return this.#settle(this.#held[step.worker]?.splice(0, step.count) ?? [], step.outcome);
      case "expire":
        return this.#expire();
      case "operate":
        await this.#bus.tsq[step.action]({ matching: { domain: "d" } }, { operator: "o" });
        return;
      case "cancelBatch":
        return ignoring(
          ["INVALID_STATE"],
          this.#bus.cancelBatch("d", this.batchIds[step.batch] ?? "", { operator: "o" }),
        );
      case "add":
        return ignoring(
          ["BATCH_SEALED"],
          this.#bus.addToBatch("d", this.batchIds[step.batch] ?? "", commands(2)),
        );
    }
  }

  /** Unfinished commands that are not in exactly one place: the queue, a lease, or the troubleshooting queue. */
  async misplaced(): Promise<unknown[]> {
    const { rows } = await this.#database.query(
      `WITH place AS (
         SELECT unnest(command_rows) AS id FROM tallyman.command_bus_queue
         UNION ALL
         SELECT c.id FROM tallyman.command_bus_held JOIN tallyman.command_bus_command c USING (id, delivery)
         WHERE c.status = 'PENDING'
         UNION ALL
         SELECT id FROM tallyman.command_bus_command WHERE troubleshooting_at IS NOT NULL)
       SELECT id, c.status, count(place.id) AS places
       FROM tallyman.command_bus_command c FULL JOIN place USING (id)
       GROUP BY id, c.status, c.finished_at
       HAVING count(place.id) <> CASE WHEN c.finished_at IS NULL THEN 1 ELSE 0 END`,
    );
    return rows;
  }

  /** Brings everything to its end, as a healthy fleet would. */
  async finish(): Promise<void> {
    for (const held of this.#held) await this.#settle(held.splice(0), "COMPLETED");
    await this.#bus.sealBatch("d", this.batchIds[3] ?? "");
    await this.#expire();
    for (;;) {
      await this.#bus.tsq.complete({ matching: {} }, { operator: "o" });
      await this.#claim(0, 1_000);
      const held = this.#held[0]?.splice(0) ?? [];
      if (held.length === 0) return;
      await this.#settle(held, "COMPLETED");
    }
  }

  async #claim(worker: number, limit: number): Promise<void> {
    const request = { domain: "d", limit, leaseMs: 60_000, worker: `w${worker}`, endedLeases: [] };
    this.#held[worker]?.push(...(await claimCommands(this.#database, request)));
  }

  async #settle(held: readonly ClaimedRow[], outcome: Outcome): Promise<void> {
    const known = new Map(held.map((row) => [row.id, row]));
    const settlements = [...known.values()].map(({ id, delivery }) => ({
      id,
      delivery,
      outcome,
      event: outcome,
      isAttempt: true,
      ...(outcome === "RETRY" && { delayMs: 0 }),
    }));
    // As a worker does: a deadlock is tried again and costs nothing.
    await this.#database.transaction((tx) => settleCommands(tx, settlements, { from: "IN_PROGRESS" }));
  }

  async #expire(): Promise<void> {
    await this.#database.query(
      "UPDATE tallyman.command_bus_lease SET lease_until = clock_timestamp() - interval '1 s'",
    );
    // A worker's maintenance that was a deadlock's victim comes again with the next round.
    await ignoring(["40P01"], this.#bus.maintenance.runOnce(3));
  }
}

async function ignoring(codes: readonly string[], work: Promise<unknown>): Promise<void> {
  await work.catch((error: { code?: string }) => {
    if (!codes.includes(error.code ?? "") && !(error instanceof BatchSealedError)) throw error;
  });
}

it("keeps counters equal to a recount and completes each batch exactly once, in any interleaving", async () => {
  await using t = await setup();
  const database = await t.connect({ poolMax: 9 });
  const bus = openBus(t, database);
  const property = fc.asyncProperty(waves, async (waves) => {
    const world = new World(database, bus);
    await world.begin();
    for (const wave of waves) {
      await Promise.all(wave.map((step) => world.take(step)));
      expect((await bus.recount()).miscounts).toEqual([]);
      expect(await world.misplaced()).toEqual([]);
    }
    await world.finish();
    expect((await bus.recount()).miscounts).toEqual([]);
    for (const batchId of world.batchIds) {
      const events = (await bus.batchHistory("d", batchId)).map(({ eventType }) => eventType);
      expect(events.filter((event) => event === "BATCH_COMPLETED")).toHaveLength(1);
      expect(events.filter((event) => event === "BATCH_STARTED").length).toBeLessThanOrEqual(1);
    }
    const { rows } = await database.query(
      "SELECT FROM tallyman.command_bus_command WHERE finished_at IS NULL",
    );
    expect(rows).toEqual([]);
  });
  await fc.assert(property, { numRuns, seed, endOnFailure: true });
}, 300_000);
