import { randomUUID } from "node:crypto";
import type { Tallyman } from "../app/index.ts";
import type { ApiRequest, Caller, RouteKey } from "../client/index.ts";
import { type Api, apiRoutes } from "./api-routes.ts";
import type { Route } from "./route.ts";

const heartbeatTimeoutMs = 60_000;

/** Calls the API in this process, on a database of its own: what the command line does without a server. */
export class LocalCaller implements Caller {
  readonly #tallyman: Tallyman;
  readonly #actor: string;

  /** @param actor who acts, for the audit */
  constructor(tallyman: Tallyman, actor: string) {
    this.#tallyman = tallyman;
    this.#actor = actor;
  }

  /** Calls one route; the answer is the JSON that a server would send. */
  async call<Key extends RouteKey>(
    key: Key,
    ...[request = {} as ApiRequest<Key>]: object extends ApiRequest<Key>
      ? [ApiRequest<Key>?]
      : [ApiRequest<Key>]
  ): Promise<Api[Key]["data"]> {
    const route: Route = apiRoutes[key];
    const { params = {}, query = {}, body = {}, idempotencyKey } = request as Record<string, object>;
    const context = { tallyman: this.#tallyman, heartbeatTimeoutMs, redactedFields: [], samples: () => [] };
    const caller = {
      actor: this.#actor,
      role: "admin",
      canViewPayloads: true,
      tokenId: null,
      isSession: false,
    } as const;
    const headers = { "idempotency-key": idempotencyKey as string | undefined };
    const data = await route.run(context, { params, query, body, caller, requestId: randomUUID(), headers });
    return JSON.parse(JSON.stringify(data)) as Api[Key]["data"];
  }
}
