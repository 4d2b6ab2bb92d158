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
