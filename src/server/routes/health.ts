import { Type } from "typebox";
import { serverNow } from "../../database/index.ts";
import { prometheusContentType, prometheusText } from "../../monitoring/index.ts";
import { answers, success } from "../envelope.ts";
import type { App, RouteContext } from "../route-context.ts";

const Health = Type.Object({ status: Type.Literal("ok") });

/** `/healthz`, `/readyz`, `/metrics`: for machines that watch. */
export function healthRoutes(app: App, { tallyman }: RouteContext): void {
  app.get("/healthz", { schema: { response: answers(Health) } }, async () =>
    success({ status: "ok" as const }),
  );

  app.get("/readyz", { schema: { response: answers(Health) } }, async () => {
    await serverNow(tallyman.database);
    return success({ status: "ok" as const });
  });

  app.get("/metrics", { schema: { response: { 200: Type.String() } } }, async (_request, reply) =>
    reply.type(prometheusContentType).send(await prometheusText(tallyman.metrics)),
  );
}
