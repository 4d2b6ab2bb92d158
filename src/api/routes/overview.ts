import { Type } from "typebox";
import { readOverview } from "../overview.ts";
import { closed, route } from "../route.ts";
import { MaybeNumber, oneOf, Timestamp } from "../schemas.ts";

const count = Type.Integer();

const Overview = Type.Object(
  {
    commands: Type.Object(
      {
        ready: count,
        waiting: count,
        inProgress: count,
        inTroubleshooting: count,
        completedPerSecond: Type.Number(),
        failedPerSecond: Type.Number(),
        pausedDomains: Type.Array(Type.String()),
      },
      closed,
    ),
    batches: Type.Object({ running: count, blocked: count }, closed),
    pipeline: Type.Object(
      {
        servicesRunning: count,
        servicesFailed: count,
        lag: count,
        deadLetters: count,
        gapsPending: count,
        gapsPermanent: count,
      },
      closed,
    ),
    scheduler: Type.Object(
      {
        leader: Type.Union([
          Type.Object({ coordinatorId: Type.String(), epoch: count, electedAt: Timestamp }, closed),
          Type.Null(),
        ]),
        workersOnline: count,
        workersUnhealthy: count,
        segmentsOwned: count,
        segmentCount: count,
        jobsParked: count,
        overdueMs: MaybeNumber,
      },
      closed,
    ),
    attention: Type.Array(
      Type.Object(
        { severity: oneOf(["error", "warning"]), text: Type.String(), link: Type.String() },
        closed,
      ),
    ),
  },
  closed,
);

const Sample = Type.Object(
  {
    at: Timestamp,
    completedPerSecond: Type.Number(),
    failedPerSecond: Type.Number(),
    backlog: count,
    inTroubleshooting: count,
    lag: count,
  },
  closed,
);

/** The whole system at a glance. */
export const overviewRoutes = {
  "GET /api/overview": route(
    { summary: "The whole system in figures, and what needs attention", role: "read", data: Overview },
    (tallyman) => readOverview(tallyman),
  ),

  "GET /api/overview/history": route(
    {
      summary: "The last hour in steps of ten seconds, as far as this process has seen it",
      role: "read",
      data: Type.Array(Sample),
    },
    async (_tallyman, _request, { samples }) => samples(),
  ),
};
