import { type Static, Type } from "typebox";
import { type SegmentInfo, segmentCountMax } from "../../scheduler/index.ts";
import { assignHere, forwardedHeader, forwardToLeader } from "../assign-segments.ts";
import { answers, success } from "../envelope.ts";
import { type App, closed, Id, type RouteContext, Timestamp } from "../route-context.ts";

const Segment = Type.Object({
  segmentId: Type.Integer(),
  workerId: Type.Union([Type.String(), Type.Null()]),
  assignedAt: Type.Union([Timestamp, Type.Null()]),
  status: Type.Union([Type.Literal("AVAILABLE"), Type.Literal("ASSIGNED"), Type.Literal("REVOKING")]),
  epoch: Type.Integer(),
});

const WorkerSegments = Type.Object(
  { workerId: Type.String(), segments: Type.Array(Type.Integer()) },
  { additionalProperties: false },
);

const SegmentMap = Type.Object(
  { segmentCount: Type.Integer(), segments: Type.Array(Segment) },
  { additionalProperties: false },
);

const OneWorker = Type.Object({ workerId: Id }, closed);

const Assignment = Type.Object(
  { workerId: Id, desiredSegments: Type.Integer({ minimum: 0, maximum: segmentCountMax }) },
  closed,
);

/** `/api/segments…`: who owns what. Only the leader assigns: other coordinators forward. */
export function segmentRoutes(app: App, { tallyman }: RouteContext): void {
  const { fleet } = tallyman.scheduler;

  app.get(
    "/api/segments",
    {
      schema: {
        querystring: Type.Object({ workerId: Type.Optional(Id) }, closed),
        response: answers(Type.Union([WorkerSegments, SegmentMap])),
      },
    },
    async ({ query: { workerId } }) => {
      if (workerId !== undefined)
        return success({ workerId, segments: [...(await fleet.segmentsOf(workerId))] });
      const segments = (await fleet.segmentMap()).map(segmentView);
      return success({ segmentCount: segments.length, segments });
    },
  );

  app.post(
    "/api/segments/assign",
    { schema: { querystring: Assignment, response: answers(WorkerSegments) } },
    async ({ query, headers }, reply) => {
      const held = await assignHere(tallyman.scheduler, query);
      if (held) return success(held);
      const { status, body } = await forwardToLeader(tallyman.scheduler, query, headers[forwardedHeader]);
      return reply.code(status as 200).send(body as never);
    },
  );

  app.delete(
    "/api/segments/release",
    {
      schema: {
        querystring: OneWorker,
        response: answers(Type.Object({ workerId: Type.String(), released: Type.Array(Type.Integer()) })),
      },
    },
    async ({ query: { workerId } }) =>
      success({ workerId, released: [...(await fleet.release(workerId, "all"))] }),
  );
}

function segmentView({
  segmentId,
  workerId,
  assignedAt,
  status,
  epoch,
}: SegmentInfo): Static<typeof Segment> {
  return { segmentId, workerId, assignedAt: assignedAt?.toISOString() ?? null, status, epoch };
}
