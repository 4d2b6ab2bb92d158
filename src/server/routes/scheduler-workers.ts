import { type Static, Type } from "typebox";
import type { WorkerInfo } from "../../scheduler/index.ts";
import { answers, success } from "../envelope.ts";
import { type App, closed, Id, type RouteContext, Timestamp } from "../route-context.ts";

const Status = Type.Union([
  Type.Literal("ONLINE"),
  Type.Literal("DRAINING"),
  Type.Literal("UNHEALTHY"),
  Type.Literal("OFFLINE"),
]);

const Worker = Type.Object({
  workerId: Type.String(),
  status: Status,
  lastHeartbeatTime: Timestamp,
  assignedSegments: Type.Array(Type.Integer()),
  cap: Type.Union([Type.Integer(), Type.Null()]),
  heartbeatTimeoutMs: Type.Integer(),
});

const Grant = Type.Object({ segmentId: Type.Integer(), epoch: Type.Integer() });

const Heartbeat = Type.Object({
  workerId: Type.String(),
  status: Status,
  assigned: Type.Array(Grant),
  revoking: Type.Array(Grant),
});

/** A process that says which start of it speaks is protected against an earlier one. */
const Named = Type.Object({ workerId: Id, bootId: Type.Optional(Type.String({ format: "uuid" })) }, closed);

const OneWorker = Type.Object({ workerId: Id }, closed);

/** `/api/scheduler-workers…`: the fleet. Every coordinator answers these, leading or not. */
export function schedulerWorkerRoutes(app: App, { tallyman, heartbeatTimeoutMs }: RouteContext): void {
  const { fleet } = tallyman.scheduler;

  app.post(
    "/api/scheduler-workers/register",
    { schema: { querystring: Named, response: answers(Worker) } },
    async ({ query: { workerId, bootId } }) =>
      success(workerView(await fleet.register(workerId, { heartbeatTimeoutMs, ...(bootId && { bootId }) }))),
  );

  app.post(
    "/api/scheduler-workers/heartbeat",
    { schema: { querystring: Named, response: answers(Heartbeat) } },
    async ({ query: { workerId, bootId } }) => {
      const { status, assigned, revoking } = await fleet.heartbeat(workerId, bootId ? { bootId } : {});
      return success({ workerId, status, assigned: [...assigned], revoking: [...revoking] });
    },
  );

  app.post(
    "/api/scheduler-workers/drain",
    { schema: { querystring: OneWorker, response: answers(Worker) } },
    async ({ query }) => success(workerView(await fleet.drain(query.workerId))),
  );

  app.get(
    "/api/scheduler-workers",
    {
      schema: {
        querystring: Type.Object({ all: Type.Optional(Type.Boolean()) }, closed),
        response: answers(Type.Array(Worker)),
      },
    },
    async ({ query: { all = false } }) => {
      const workers = await fleet.listWorkers();
      return success(workers.filter(({ status }) => all || status !== "OFFLINE").map(workerView));
    },
  );
}

function workerView(worker: WorkerInfo): Static<typeof Worker> {
  const { workerId, status, cap, heartbeatTimeoutMs, lastHeartbeatTime, assignedSegments } = worker;
  return {
    workerId,
    status,
    cap,
    heartbeatTimeoutMs,
    lastHeartbeatTime: lastHeartbeatTime.toISOString(),
    assignedSegments: [...assignedSegments],
  };
}
