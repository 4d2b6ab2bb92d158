/**
 * A leader that is stopped by the system between the moment at which it looked at its term and the write that it
 * makes because of it: argv[2] is the database. Whoever wakes it finds out what became of the write.
 */
import { Database } from "../../src/database/index.ts";
import { coordinatorStore } from "../../src/scheduler/coordinator-store.ts";

const holder = "00000000-0000-4000-8000-0000000000aa";
await using database = await Database.connect({ url: process.argv[2] ?? "", listenUrl: null });
const store = coordinatorStore(database);
const bid = { holder, coordinatorId: "stale", host: "127.0.0.1", port: 1, leaseMs: 1_000 };
const { epoch, isMine } = await store.acquire(bid);
const free = { segmentId: 0, epoch: 0, workerId: "worker-1" };
process.stdout.write(`elected ${isMine} ${epoch}\n`);
process.kill(process.pid, "SIGSTOP");
const assigned = await store.assign({ holder, epoch }, [free]);
const renewed = await store.renew({ holder, epoch }, 60_000);
process.stdout.write(`after the stop: ${JSON.stringify({ assigned: assigned ?? "refused", renewed })}\n`);
