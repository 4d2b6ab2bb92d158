import fc from "fast-check";
import { expect, it } from "vitest";
import type { Database } from "../src/database/index.ts";
import { coordinatorStore } from "../src/scheduler/coordinator-store.ts";
import {
  drainWorker,
  heartbeatWorker,
  registerWorker,
  releaseAllSegments,
  releaseSegments,
} from "../src/scheduler/sql/worker.ts";
import { setup } from "../src/testing/index.ts";
import { SchedulerModel } from "./models/scheduler-model.ts";

/** More: RUNS=1000 SEED=1 npx vitest run scheduler-model. */
const numRuns = Number(process.env.RUNS ?? 25);
const seed = Number(process.env.SEED ?? 20_241_115);

const segmentCount = 4;
const holders = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"];
const boots = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002", null];
/** So long that the time which a run itself takes makes no difference. */
const times = { leaseMs: 1_000_000, revokeMs: 500_000, timeoutMs: 800_000 };

const holder = fc.constantFrom(...holders);
const leaderEpoch = fc.integer({ min: 1, max: 3 });
const workerId = fc.constantFrom("u", "v");
const bootId = fc.constantFrom(...boots);
const segmentId = fc.nat(segmentCount - 1);
const epoch = fc.nat(4);
const moves = fc.uniqueArray(fc.record({ segmentId, epoch, workerId }), {
  maxLength: segmentCount,
  selector: (move) => move.segmentId,
});
const does = <T extends string>(name: T) => fc.constant(name);
const term = { holder, epoch: leaderEpoch };

/** Ids, epochs and terms at random: most tokens are stale, which is what is to be compared. */
const step = fc.oneof(
  fc.record({ do: does("acquire"), holder }),
  fc.record({ do: does("renew"), ...term }),
  fc.record({ do: does("resign"), ...term }),
  fc.record({ do: does("takeBack"), ...term }),
  fc.record({ do: does("assign"), ...term, moves }),
  fc.record({ do: does("assignFresh"), workerId }),
  fc.record({ do: does("revokeFresh") }),
  fc.record({ do: does("desired"), workerId, count: fc.nat(segmentCount) }),
  fc.record({ do: does("register"), workerId, bootId, cap: fc.constantFrom(null, undefined, 0, 2) }),
  fc.record({ do: does("heartbeat"), workerId, bootId }),
  fc.record({ do: does("release"), workerId, moves }),
  fc.record({ do: does("releaseFresh"), workerId }),
  fc.record({ do: does("releaseAll"), workerId, bootId, leaves: fc.boolean() }),
  fc.record({ do: does("drain"), workerId }),
  fc.record({ do: does("wait"), ms: fc.constantFrom(100_000, 600_000, 1_200_000) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Both worlds, to be kept in step. */
class Both {
  readonly #database: Database;
  readonly #model: SchedulerModel;
  #nowMs = 0;

  constructor(database: Database) {
    this.#database = database;
    this.#model = new SchedulerModel(segmentCount, () => this.#nowMs);
  }

  /** What the model answers, and what PostgreSQL does. */
  async take(step: Step): Promise<[unknown, unknown]> {
    const [model, database, store] = [this.#model, this.#database, coordinatorStore(this.#database)];
    const { holder, epoch } = model.lease;
    const present = { holder: holder ?? holders[0] ?? "", epoch };
    switch (step.do) {
      case "acquire": {
        const attempt = { ...step, coordinatorId: "c", host: "h", port: 1, leaseMs: times.leaseMs };
        const [a, b] = [model.acquire(attempt), await store.acquire(attempt)];
        return [
          { epoch: a.epoch, isMine: a.isMine },
          { epoch: b.epoch, isMine: b.isMine },
        ];
      }
      case "renew":
        return [model.renew(step, times.leaseMs), await store.renew(step, times.leaseMs)];
      case "resign":
        return [model.resign(step), await store.resign(step)];
      case "takeBack":
        return [model.takeBack(step), await store.takeBack(step)];
      case "assign":
        return [model.assign(step, step.moves), await store.assign(step, step.moves)];
      case "assignFresh": {
        const free = model.fleetState().segments.filter(({ status }) => status === "AVAILABLE");
        const fresh = free.slice(0, 2).map((segment) => ({ ...segment, workerId: step.workerId }));
        return [model.assign(present, fresh), await store.assign(present, fresh)];
      }
      case "revokeFresh": {
        const held = model
          .fleetState()
          .segments.flatMap((s) => (s.workerId ? { ...s, workerId: s.workerId } : []));
        const { revokeMs } = times;
        return [model.revoke(present, held, revokeMs), await store.revoke(present, held, revokeMs)];
      }
      case "desired": {
        const request = { ...step, desiredSegments: step.count, revokeMs: times.revokeMs };
        return [model.assignDesired(present, request), await store.assignDesired(present, request)];
      }
      case "register": {
        const registration = { ...step, heartbeatTimeoutMs: times.timeoutMs };
        return [model.register(registration), await registerWorker(database, registration)];
      }
      case "heartbeat": {
        const { workerId, bootId } = step;
        return [model.heartbeat(workerId, bootId), await heartbeatWorker(database, workerId, bootId)];
      }
      case "release":
        return [
          model.release(step.workerId, step.moves),
          await releaseSegments(database, step.workerId, step.moves),
        ];
      case "releaseFresh": {
        const grants = model.fleetState().segments.slice(0, 2);
        return [model.release(step.workerId, grants), await releaseSegments(database, step.workerId, grants)];
      }
      case "releaseAll":
        return [
          model.releaseAll(step.workerId, step.bootId, step.leaves),
          await releaseAllSegments(database, step),
        ];
      case "drain":
        return [model.drain(step.workerId), await drainWorker(database, step.workerId)];
      case "wait":
        return [undefined, await this.#wait(step.ms)];
    }
  }

  /** Every row, as both have it; times only as far as they decide something. */
  async states(): Promise<[unknown, unknown]> {
    const { lease, workers, segments } = this.#model;
    const model = {
      lease: { epoch: lease.epoch, holder: lease.holder },
      workers: [...workers]
        .map(([id, { bootId, status, isDraining, cap }]) => [id, bootId, status, isDraining, cap])
        .sort(),
      segments: segments.map(({ status, workerId, epoch, leaderEpoch }) => [
        status,
        workerId,
        epoch,
        leaderEpoch,
      ]),
    };
    const { rows } = await this.#database.query(
      `SELECT (SELECT json_build_object('epoch', epoch, 'holder', holder) FROM tallyman.scheduler_leader_lease) AS lease,
              (SELECT coalesce(json_agg(json_build_array(worker_id, boot_id, status, is_draining, cap) ORDER BY worker_id), '[]')
               FROM tallyman.scheduler_worker) AS workers,
              (SELECT json_agg(json_build_array(status, worker_id, epoch, leader_epoch) ORDER BY segment_id)
               FROM tallyman.scheduler_segment) AS segments`,
    );
    return [model, rows[0]];
  }

  /** Time passes in PostgreSQL too when everything that is stored becomes older. */
  async #wait(ms: number): Promise<undefined> {
    this.#nowMs += ms;
    const older = (column: string) => `${column} = ${column} - $1 * interval '1 ms'`;
    await this.#database.query(`UPDATE tallyman.scheduler_leader_lease SET ${older("expires_at")}`, [ms]);
    await this.#database.query(`UPDATE tallyman.scheduler_worker SET ${older("last_heartbeat_time")}`, [ms]);
    await this.#database.query(`UPDATE tallyman.scheduler_segment SET ${older("revoke_deadline")}`, [ms]);
  }
}

async function empty(database: Database): Promise<void> {
  await database.query("TRUNCATE tallyman.scheduler_worker, tallyman.scheduler_segment");
  await database.query(
    "UPDATE tallyman.scheduler_leader_lease SET epoch = 0, holder = NULL, expires_at = '-infinity'",
  );
  await database.query(
    "INSERT INTO tallyman.scheduler_segment (segment_id) SELECT generate_series(0, $1::int - 1)",
    [segmentCount],
  );
}

it("does in PostgreSQL what it does in the model that is simulated", async () => {
  await using t = await setup();
  const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
    await empty(t.database);
    const both = new Both(t.database);
    for (const step of steps) {
      const [expected, answered] = await both.take(step);
      expect(answered, step.do).toEqual(expected);
      const [model, tables] = await both.states();
      expect(tables, step.do).toEqual(model);
    }
  });
  await fc.assert(property, { numRuns, seed, endOnFailure: true });
}, 600_000);
