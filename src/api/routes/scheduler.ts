import { Type } from "typebox";
import { segmentCountMax } from "../../scheduler/index.ts";
import { assignSegments } from "../assign-segments.ts";
import { action, closed, route } from "../route.ts";
import {
  Id,
  MaybeInteger,
  MaybeText,
  MaybeTimestamp,
  oneOf,
  Reason,
  Timestamp,
  text,
  Uuid,
} from "../schemas.ts";

const portMax = 65_535;

const Coordinator = Type.Object(
  {
    coordinatorId: Type.String(),
    host: Type.String(),
    port: Type.Integer(),
    isLeader: Type.Boolean(),
    status: oneOf(["ONLINE", "OFFLINE"]),
    registeredAt: Timestamp,
    lastHeartbeatTime: Timestamp,
    electedAt: MaybeTimestamp,
  },
  closed,
);

const Leader = Type.Object(
  {
    coordinatorId: Type.String(),
    host: Type.String(),
    port: Type.Integer(),
    isLeader: Type.Boolean(),
    electedAt: Timestamp,
    epoch: Type.Integer(),
  },
  closed,
);

const WorkerStatusText = oneOf(["ONLINE", "DRAINING", "UNHEALTHY", "OFFLINE"]);

const Worker = Type.Object(
  {
    workerId: Type.String(),
    status: WorkerStatusText,
    registeredAt: Timestamp,
    lastHeartbeatTime: Timestamp,
    assignedSegments: Type.Array(Type.Integer()),
    cap: MaybeInteger,
    heartbeatTimeoutMs: Type.Integer(),
  },
  closed,
);

const Grant = Type.Object({ segmentId: Type.Integer(), epoch: Type.Integer() }, closed);

const Heartbeat = Type.Object(
  {
    workerId: Type.String(),
    status: WorkerStatusText,
    assigned: Type.Array(Grant),
    revoking: Type.Array(Grant),
  },
  closed,
);

const Segment = Type.Object(
  {
    segmentId: Type.Integer(),
    workerId: MaybeText,
    assignedAt: MaybeTimestamp,
    status: oneOf(["AVAILABLE", "ASSIGNED", "REVOKING"]),
    epoch: Type.Integer(),
    revokeDeadline: MaybeTimestamp,
  },
  closed,
);

const WorkerSegments = Type.Object({ workerId: Type.String(), segments: Type.Array(Type.Integer()) }, closed);
const SegmentMap = Type.Object({ segmentCount: Type.Integer(), segments: Type.Array(Segment) }, closed);

/** A process that says which start of it speaks is protected against an earlier one. */
const NamedWorker = Type.Object({ workerId: Id, bootId: Type.Optional(Uuid) }, closed);
const OneWorker = Type.Object({ workerId: Id }, closed);

/** Coordinators, scheduler workers and segments. Every coordinator answers these; only the leader assigns. */
export const schedulerRoutes = {
  "POST /api/coordinator/register": route(
    {
      summary: "Enter a coordinator in the register, with the address that it answers on",
      role: "operate",
      body: Type.Object(
        {
          coordinatorId: Id,
          host: text({ min: 1, max: 253 }),
          port: Type.Integer({ minimum: 1, maximum: portMax }),
        },
        closed,
      ),
      data: Coordinator,
    },
    ({ scheduler }, { body: { coordinatorId, host, port } }) =>
      scheduler.coordinators.register(coordinatorId, { host, port }),
  ),

  "POST /api/coordinator/heartbeat": route(
    {
      summary: "Say that a coordinator is alive; never renews leadership",
      role: "operate",
      query: Type.Object({ coordinatorId: Id }, closed),
      data: Coordinator,
    },
    ({ scheduler }, { query }) => scheduler.coordinators.heartbeat(query.coordinatorId),
  ),

  "GET /api/coordinator/leader": route(
    { summary: "Get the coordinator that leads", role: "read", data: Leader },
    async ({ scheduler }) => ({ ...(await scheduler.coordinators.leader()), isLeader: true }),
  ),

  "GET /api/coordinators": route(
    { summary: "List coordinators", role: "read", data: Type.Array(Coordinator) },
    ({ scheduler }) => scheduler.coordinators.list(),
  ),

  "POST /api/scheduler-workers/register": route(
    {
      summary: "Register a scheduler worker; again changes nothing",
      role: "operate",
      query: NamedWorker,
      data: Worker,
    },
    ({ scheduler }, { query: { workerId, bootId } }, { heartbeatTimeoutMs }) =>
      scheduler.fleet.register(workerId, { heartbeatTimeoutMs, ...(bootId && { bootId }) }),
  ),

  "POST /api/scheduler-workers/heartbeat": route(
    {
      summary: "Say that a scheduler worker is alive; answers with all that it may work on",
      role: "operate",
      query: NamedWorker,
      data: Heartbeat,
    },
    async ({ scheduler }, { query: { workerId, bootId } }) => {
      const answer = await scheduler.fleet.heartbeat(workerId, bootId ? { bootId } : {});
      return { workerId, ...answer };
    },
  ),

  "POST /api/scheduler-workers/drain": action(
    {
      summary: "Take a scheduler worker's segments away and give it no new ones",
      role: "operate",
      action: "worker.drain",
      query: Type.Object({ ...OneWorker.properties, reason: Reason }, closed),
      data: Worker,
    },
    async ({ scheduler }, { query: { workerId } }) => {
      const data = await scheduler.fleet.drain(workerId);
      return { data, target: { workerId }, changed: 1 };
    },
  ),

  "GET /api/scheduler-workers": route(
    {
      summary: "List scheduler workers",
      role: "read",
      query: Type.Object({ all: Type.Optional(Type.Boolean()) }, closed),
      data: Type.Array(Worker),
    },
    async ({ scheduler }, { query: { all = false } }) => {
      const workers = await scheduler.fleet.listWorkers();
      return workers.filter(({ status }) => all || status !== "OFFLINE");
    },
  ),

  "GET /api/segments": route(
    {
      summary: "Get the segments of a worker, or the whole map",
      role: "read",
      query: Type.Object({ workerId: Type.Optional(Id) }, closed),
      data: Type.Union([WorkerSegments, SegmentMap]),
    },
    async ({ scheduler: { fleet } }, { query: { workerId } }) => {
      if (workerId !== undefined) return { workerId, segments: await fleet.segmentsOf(workerId) };
      const segments = await fleet.segmentMap();
      return { segmentCount: segments.length, segments };
    },
  ),

  "POST /api/segments/resize": action(
    {
      summary: `Change the number of segments, 1 to ${segmentCountMax.toLocaleString("en")}; all are assigned anew at once`,
      role: "admin",
      action: "segments.resize",
      body: Type.Object({ count: Type.Integer(), reason: Reason }, closed),
      data: Type.Object({ segmentCount: Type.Integer() }, closed),
    },
    async ({ scheduler }, { body: { count } }) => {
      await scheduler.setSegmentCount(count);
      return { data: { segmentCount: count }, target: { count }, changed: count };
    },
  ),

  "POST /api/segments/assign": route(
    {
      summary: "Ask for segments; a coordinator that does not lead asks the leader",
      role: "operate",
      query: Type.Object(
        { workerId: Id, desiredSegments: Type.Integer({ minimum: 0, maximum: segmentCountMax }) },
        closed,
      ),
      data: WorkerSegments,
    },
    ({ scheduler }, { query, headers }) => assignSegments(scheduler, query, headers),
  ),

  "DELETE /api/segments/release": route(
    {
      summary: "Give back all segments of a worker",
      role: "operate",
      query: OneWorker,
      data: Type.Object({ workerId: Type.String(), released: Type.Array(Type.Integer()) }, closed),
    },
    async ({ scheduler }, { query: { workerId } }) => ({
      workerId,
      released: await scheduler.fleet.release(workerId, "all"),
    }),
  ),
};
