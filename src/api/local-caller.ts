import { randomUUID } from "node:crypto";
import type { Tallyman } from "../app/index.ts";
import type { ApiRequest, Caller, RouteKey } from "../client/index.ts";
import { type Api, apiRoutes } from "./api-routes.ts";
import { nothing, type Route } from "./route.ts";
import { refuseInvalid } from "./validate.ts";

const heartbeatTimeoutMs = 60_000;

/** Who acts in this process. */
export interface LocalCallerOptions {
  /** For the audit. */
  readonly actor: string;
  /** Fields of payloads that nobody is shown, by name. Default none. */
  readonly redactedFields?: readonly string[] | undefined;
}

/**
 * Calls the API in this process, on a database of its own: what the command line does without a server. Requests
 * are checked as a server would.
 */
export class LocalCaller implements Caller {
  readonly #tallyman: Tallyman;
  readonly #options: LocalCallerOptions;

  constructor(tallyman: Tallyman, options: LocalCallerOptions) {
    this.#tallyman = tallyman;
    this.#options = options;
  }

  /** Calls one route; the answer is the JSON that a server would send. */
  async call<Key extends RouteKey>(
    key: Key,
    ...[request = {} as ApiRequest<Key>]: object extends ApiRequest<Key>
      ? [ApiRequest<Key>?]
      : [ApiRequest<Key>]
  ): Promise<Api[Key]["data"]> {
    const route: Route = apiRoutes[key];
    const { idempotencyKey, ...parts } = request as AnyRequest;
    const { params, query, body } = await checkedParts(route, parts);
    const { actor, redactedFields = [] } = this.#options;
    const context = { tallyman: this.#tallyman, heartbeatTimeoutMs, redactedFields, samples: () => [] };
    const caller = { actor, role: "admin", canViewPayloads: true, tokenId: null, isSession: false } as const;
    const headers = { "idempotency-key": idempotencyKey };
    const data = await route.run(context, { params, query, body, caller, requestId: randomUUID(), headers });
    return JSON.parse(JSON.stringify(data)) as Api[Key]["data"];
  }
}

interface AnyRequest {
  readonly params?: object;
  readonly query?: object;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

async function checkedParts(route: Route, { params = {}, query = {}, body = {} }: AnyRequest) {
  const gathered = await gather(body);
  refuseInvalid("params", route.params ?? nothing, params);
  refuseInvalid("querystring", route.query ?? nothing, query);
  if (route.body) refuseInvalid("body", route.body, gathered);
  return { params, query, body: gathered };
}

/** What a server would make of a stream of values. */
async function gather(body: unknown): Promise<unknown> {
  if (typeof body !== "object" || body === null || !(Symbol.asyncIterator in body)) return body;
  const values: unknown[] = [];
  for await (const value of body as AsyncIterable<unknown>) values.push(value);
  return values;
}
