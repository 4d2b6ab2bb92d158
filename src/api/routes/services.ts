import { Type } from "typebox";
import { type ListedManager, type ServiceAction, ServiceControl } from "../../app/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { action, closed, route } from "../route.ts";
import { MaybeText, Name, oneOf, Reason, Timestamp, Uuid } from "../schemas.ts";

/** Shorter than a client's patience, so that it is told what became of its request. */
const timeoutMsDefault = 25_000;
const timeoutMsMax = 600_000;

const State = oneOf(["STOPPED", "RUNNING", "PAUSED", "ERROR"]);

const Service = Type.Object(
  {
    name: Type.String(),
    className: Type.String(),
    state: State,
    isStarting: Type.Boolean(),
    sinceMs: Type.Integer(),
    restarts: Type.Integer(),
    error: MaybeText,
  },
  closed,
);

const Manager = Type.Object(
  {
    managerId: Uuid,
    name: Type.String(),
    hostname: Type.String(),
    pid: Type.Integer(),
    startedAt: Timestamp,
    isLost: Type.Boolean(),
    heartbeatAgeMs: Type.Integer(),
    services: Type.Array(Service),
  },
  closed,
);

const Outcome = Type.Object(
  { manager: Type.String(), managerId: Uuid, service: Type.String(), state: State },
  closed,
);

/** The processes that run services, and what they are asked to do. */
export const serviceRoutes = {
  "GET /api/services": route(
    {
      summary: "List the processes that run services, the oldest first, with their services",
      role: "read",
      data: Type.Array(Manager),
    },
    ({ database }) => new ServiceControl(database).list(),
  ),

  "POST /api/services/:service/start": requested("start", "Start a service that is stopped or has failed"),
  "POST /api/services/:service/stop": requested("stop", "Stop a service with its final flush"),
  "POST /api/services/:service/pause": requested(
    "pause",
    "Let a service finish what it is at, then do nothing until resumed",
  ),
  "POST /api/services/:service/resume": requested("resume", "Let a paused service go on"),
  "POST /api/services/:service/restart": requested("restart", "Stop a service, then start it again"),

  "DELETE /api/services/managers/:managerId": action(
    {
      summary: "Forget a process that is lost, and its services",
      role: "operate",
      action: "service.forget",
      params: Type.Object({ managerId: Uuid }, closed),
      query: Type.Object({ reason: Reason }, closed),
      data: Type.Object({ managerId: Uuid }, closed),
    },
    async ({ database }, { params: { managerId } }) => {
      const control = new ServiceControl(database);
      const { name } = lostManager(await control.list(), managerId);
      await control.forget(managerId);
      return { data: { managerId }, target: { managerId, name }, changed: 1 };
    },
  ),
};

/** Asks the process that runs a service; answers when that has done it. */
function requested(name: ServiceAction, summary: string) {
  return action(
    {
      summary,
      role: "operate",
      action: `service.${name}`,
      params: Type.Object({ service: Name }, closed),
      body: Type.Object(
        {
          manager: Type.Optional(Name),
          timeoutMs: Type.Optional(
            Type.Integer({ minimum: 1, maximum: timeoutMsMax, default: timeoutMsDefault }),
          ),
          reason: Reason,
        },
        closed,
      ),
      data: Outcome,
    },
    async ({ database }, { params: { service }, body, caller }, { tallyman }) => {
      const { manager, timeoutMs = timeoutMsDefault } = body;
      const options = { manager, requestedBy: caller.actor };
      const request = await new ServiceControl(database).submit(name, service, options);
      return {
        target: { service, manager: request.manager },
        changed: 1,
        afterwards: () => new ServiceControl(tallyman.database).outcome(request, { timeoutMs }),
      };
    },
  );
}

function lostManager(managers: readonly ListedManager[], managerId: string): ListedManager {
  const found = managers.find((manager) => manager.managerId === managerId);
  const details = { managerId };
  if (!found) throw new TallymanError("SERVICE_UNKNOWN", `No process has the id ${managerId}.`, { details });
  if (found.isLost) return found;
  throw new TallymanError(
    "SERVICE_WRONG_STATE",
    `${found.name} is alive: only a process that is lost can be forgotten.`,
    { details },
  );
}
