import { type Static, Type } from "typebox";
import type { CoordinatorInfo } from "../../scheduler/index.ts";
import { answers, success } from "../envelope.ts";
import { type App, closed, Id, type RouteContext, Timestamp } from "../route-context.ts";

const portMax = 65_535;

const Registration = Type.Object(
  {
    coordinatorId: Id,
    host: Type.String({ minLength: 1, maxLength: 253 }),
    port: Type.Integer({ minimum: 1, maximum: portMax }),
  },
  closed,
);

const Coordinator = Type.Object({
  coordinatorId: Type.String(),
  host: Type.String(),
  port: Type.Integer(),
  isLeader: Type.Boolean(),
  status: Type.Union([Type.Literal("ONLINE"), Type.Literal("OFFLINE")]),
  lastHeartbeatTime: Timestamp,
  electedAt: Type.Union([Timestamp, Type.Null()]),
});

const Leader = Type.Object({
  coordinatorId: Type.String(),
  isLeader: Type.Boolean(),
  electedAt: Timestamp,
  epoch: Type.Integer(),
});

/** `/api/coordinator…`: the register of coordinators, and who leads. Nothing here campaigns or renews. */
export function coordinatorRoutes(app: App, { tallyman }: RouteContext): void {
  const { coordinators } = tallyman.scheduler;

  app.post(
    "/api/coordinator/register",
    { schema: { body: Registration, response: answers(Coordinator) } },
    async ({ body: { coordinatorId, host, port } }) =>
      success(coordinatorView(await coordinators.register(coordinatorId, { host, port }))),
  );

  app.post(
    "/api/coordinator/heartbeat",
    {
      schema: {
        querystring: Type.Object({ coordinatorId: Id }, closed),
        response: answers(Coordinator),
      },
    },
    async ({ query }) => success(coordinatorView(await coordinators.heartbeat(query.coordinatorId))),
  );

  app.get("/api/coordinator/leader", { schema: { response: answers(Leader) } }, async () => {
    const { coordinatorId, epoch, electedAt } = await coordinators.leader();
    return success({ coordinatorId, isLeader: true, electedAt: electedAt.toISOString(), epoch });
  });

  app.get("/api/coordinators", { schema: { response: answers(Type.Array(Coordinator)) } }, async () =>
    success((await coordinators.list()).map(coordinatorView)),
  );
}

function coordinatorView(coordinator: CoordinatorInfo): Static<typeof Coordinator> {
  const { coordinatorId, host, port, isLeader, status } = coordinator;
  return {
    coordinatorId,
    host,
    port,
    isLeader,
    status,
    lastHeartbeatTime: coordinator.lastHeartbeatTime.toISOString(),
    electedAt: coordinator.electedAt?.toISOString() ?? null,
  };
}
