import { describe, expect, it } from "vitest";
import type { Role } from "../src/operators/index.ts";
import { setup } from "../src/testing/index.ts";
import { createTokens, documented, openServer, request } from "./kit/http.ts";
import { plainParts } from "./kit/schema-samples.ts";

type Access = Role | "anyone";

/** Who may do what. A route without a row here fails. */
const access: Record<string, Access> = {
  "GET /healthz": "anyone",
  "GET /readyz": "anyone",
  "GET /metrics": "read",
  "GET /api/session": "anyone",
  "POST /api/session": "anyone",
  "DELETE /api/session": "anyone",
  "GET /api/events": "read",
  "GET /api/overview": "read",
  "GET /api/overview/history": "read",
  "POST /api/domains/:domain/commands": "operate",
  "GET /api/domains/:domain/commands": "read",
  "GET /api/domains/:domain/commands/:commandId": "read",
  "GET /api/domains/:domain/commands/:commandId/history": "read",
  "POST /api/domains/:domain/commands/:commandId/cancel": "operate",
  "GET /api/batches": "read",
  "POST /api/domains/:domain/batches": "operate",
  "POST /api/domains/:domain/batches/import": "operate",
  "GET /api/batches/:batchId": "read",
  "GET /api/batches/:batchId/commands": "read",
  "GET /api/batches/:batchId/history": "read",
  "POST /api/batches/:batchId/commands": "operate",
  "POST /api/batches/:batchId/seal": "operate",
  "GET /api/batches/:batchId/cancel": "read",
  "POST /api/batches/:batchId/cancel": "operate",
  "GET /api/tsq": "read",
  "GET /api/tsq/groups": "read",
  "GET /api/tsq/preview": "read",
  "POST /api/tsq/retry": "operate",
  "POST /api/tsq/complete": "operate",
  "POST /api/tsq/cancel": "operate",
  "GET /api/domains": "read",
  "POST /api/domains/:domain/pause": "operate",
  "POST /api/domains/:domain/resume": "operate",
  "POST /api/replies/:queue/receive": "operate",
  "POST /api/replies/:queue/acknowledge": "operate",
  "GET /api/audit": "read",
  "POST /api/coordinator/register": "operate",
  "POST /api/coordinator/heartbeat": "operate",
  "GET /api/coordinator/leader": "read",
  "GET /api/coordinators": "read",
  "POST /api/scheduler-workers/register": "operate",
  "POST /api/scheduler-workers/heartbeat": "operate",
  "POST /api/scheduler-workers/drain": "operate",
  "GET /api/scheduler-workers": "read",
  "GET /api/segments": "read",
  "POST /api/segments/resize": "admin",
  "POST /api/segments/assign": "operate",
  "DELETE /api/segments/release": "operate",
  "GET /api/actions": "read",
  "GET /api/tokens": "admin",
  "POST /api/tokens": "admin",
  "POST /api/tokens/:tokenId/revoke": "admin",
  "GET /api/jobs": "read",
  "POST /api/jobs": "operate",
  "GET /api/jobs/:key": "read",
  "PATCH /api/jobs/:key": "operate",
  "DELETE /api/jobs/:key": "operate",
  "POST /api/jobs/:key/pause": "operate",
  "POST /api/jobs/:key/resume": "operate",
  "POST /api/jobs/:key/run": "operate",
  "GET /api/jobs/:key/next": "read",
  "GET /api/jobs/:key/history": "read",
  "GET /api/jobs/:key/payload": "read",
  "GET /api/topics": "read",
  "POST /api/topics/:topic/groups/:group/pause": "operate",
  "POST /api/topics/:topic/groups/:group/resume": "operate",
  "POST /api/topics/:topic/groups/:group/seek": "operate",
  "DELETE /api/topics/:topic/groups/:group": "admin",
  "PUT /api/topics/:topic/retention": "admin",
  "GET /api/topics/:topic/dead-letters": "read",
  "GET /api/topics/:topic/redrive": "read",
  "POST /api/topics/:topic/redrive": "operate",
  "GET /api/services": "read",
  "POST /api/services/:service/start": "operate",
  "POST /api/services/:service/stop": "operate",
  "POST /api/services/:service/pause": "operate",
  "POST /api/services/:service/resume": "operate",
  "POST /api/services/:service/restart": "operate",
  "DELETE /api/services/managers/:managerId": "operate",
  "GET /api/runs": "read",
  "GET /api/runs/:runId": "read",
  "GET /api/runs/:runId/ticks": "read",
  "GET /api/runs/:runId/gaps": "read",
  "GET /api/runs/:runId/claims": "read",
  "GET /api/runs/:runId/failed-files": "read",
  "POST /api/runs/:runId/retry": "operate",
  "POST /api/runs/:runId/reindex": "admin",
  "GET /api/runs/:runId/indexed": "read",
  "GET /api/runs/:runId/environment": "read",
  "GET /api/runs/:runId/organisms": "read",
  "GET /api/runs/:runId/organisms/:organismId": "read",
  "GET /api/runs/:runId/statistics": "read",
};

const rank = { anyone: 0, read: 1, operate: 2, admin: 3 } as const;
const unauthorized = 401;
const forbidden = 403;

describe("access to the HTTP API", () => {
  it("is as the table says, for every route and every role", async () => {
    await using t = await setup();
    const { server, tallyman } = await openServer(t);
    const tokens = await createTokens(tallyman);
    const operations = await documented(server.url);
    expect(operations.map(({ key, operation }) => [key, operation["x-role"]]).sort()).toEqual(
      Object.entries(access).sort(),
    );
    const callers = [["anyone", undefined], ...Object.entries(tokens)] as [Access, string | undefined][];
    for (const operation of operations) {
      for (const [caller, token] of callers) {
        const signal = AbortSignal.timeout(30_000);
        const response = await request(server.url, operation, plainParts(operation), { token, signal });
        await response.body?.cancel();
        const needed = access[operation.key] ?? "admin";
        const refusal = caller === "anyone" ? unauthorized : forbidden;
        const what = `${operation.key} as ${caller}: ${response.status}`;
        const isWrongToken = operation.key === "POST /api/session";
        if (rank[caller] >= rank[needed] && !isWrongToken)
          expect([unauthorized, forbidden], what).not.toContain(response.status);
        else expect(response.status, what).toBe(isWrongToken ? unauthorized : refusal);
      }
    }
  });

  it("never changes anything by GET, and has a schema for every answer", async () => {
    await using t = await setup();
    const { server } = await openServer(t);
    for (const { key, method, operation } of await documented(server.url)) {
      if (method === "GET") expect(operation.requestBody, key).toBeUndefined();
      expect(operation.responses, key).toMatchObject({ "200": { content: {} }, "4XX": {}, "5XX": {} });
      expect(operation.summary, key).not.toBe("");
    }
  });
});
