import { expect, it } from "vitest";
import { apiRoutes } from "../api/index.ts";
import type { Caller } from "../client/index.ts";
import { ReasonedCaller } from "./audited.ts";

/** What reaches the API when a command line with a reason calls it. */
function reasonedCalls() {
  const requests: unknown[] = [];
  const inner: Caller = {
    call: async (_key, ...request) => {
      requests.push(request[0]);
      return undefined as never;
    },
  };
  return { requests, caller: new ReasonedCaller(inner, "late") };
}

it("puts the reason where the route takes it, and keeps the rest of the request", async () => {
  const { caller, requests } = reasonedCalls();
  await caller.call("POST /api/segments/resize", { body: { count: 8 } });
  await caller.call("DELETE /api/jobs/:key", { params: { key: "nightly" } });
  await caller.call("GET /api/jobs", { query: { limit: 3 } });
  expect(requests).toEqual([
    { body: { count: 8, reason: "late" } },
    { params: { key: "nightly" }, query: { reason: "late" } },
    { query: { limit: 3 } },
  ]);
});

it("reaches every action but those that send work", async () => {
  const { caller, requests } = reasonedCalls();
  const actions = Object.entries(apiRoutes).filter(([, route]) => route.action !== undefined);
  for (const [key] of actions) await caller.call(key as "GET /api/jobs");
  const without = actions.filter((_, i) => !JSON.stringify(requests[i]).includes("late")).map(([key]) => key);
  expect(without).toEqual([
    "POST /api/domains/:domain/commands",
    "POST /api/domains/:domain/batches",
    "POST /api/domains/:domain/batches/import",
    "POST /api/batches/:batchId/commands",
  ]);
});
