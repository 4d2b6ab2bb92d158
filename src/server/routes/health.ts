import { Type } from "typebox";
import type { RouteContext } from "../../api/index.ts";
import { TallymanError } from "../../errors/index.ts";
import { prometheusContentType, prometheusText } from "../../monitoring/index.ts";
import type { ServedRoutes } from "../serve-routes.ts";

const Health = Type.Object({ status: Type.Literal("ok") });

/** For machines that watch. */
export function healthRoutes({ tallyman }: RouteContext) {
  return {
    "GET /healthz": {
      summary: "Whether the process answers",
      role: "anyone",
      data: Health,
      handle: async () => ({ status: "ok" }),
    },
    "GET /readyz": {
      summary: "Whether it can work: database, migrations, services",
      role: "anyone",
      data: Health,
      handle: async () => {
        const { pending } = await tallyman.migrate({ dryRun: true });
        if (pending.length > 0) throw notReady(`${pending.length} migrations are pending`, { pending });
        const failing = tallyman.metrics.collect().filter(({ healthy }) => !healthy);
        const names = failing.map(({ name }) => name);
        if (names.length > 0) throw notReady(`not healthy: ${names.join(", ")}`, { components: names });
        return { status: "ok" };
      },
    },
    "GET /metrics": {
      summary: "Metrics in Prometheus' text format",
      role: "read",
      isRaw: true,
      data: Type.String(),
      handle: async (_request, reply) =>
        reply.type(prometheusContentType).send(await prometheusText(tallyman.metrics)),
    },
  } satisfies ServedRoutes;
}

function notReady(reason: string, details: Readonly<Record<string, unknown>>): TallymanError {
  return new TallymanError("NOT_READY", `Not ready: ${reason}.`, { details });
}
