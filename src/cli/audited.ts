import type { Command } from "commander";
import { apiRoutes, type Route } from "../api/index.ts";
import type { Api, ApiRequest, Caller, RouteKey } from "../client/index.ts";
import type { GlobalOptions } from "./output.ts";

/** The options of commands that change something. */
export interface AuditedOptions extends GlobalOptions {
  readonly operator?: string;
  readonly reason?: string;
}

/** Lets a command say who does it and why. */
export function audited(command: Command): Command {
  return command
    .option("--operator <name>", "who does it, for the audit (default: your user name)")
    .option("--reason <text>", "why, for the audit");
}

/** Gives every action of a command the same reason. */
export class ReasonedCaller implements Caller {
  readonly #caller: Caller;
  readonly #reason: string;

  constructor(caller: Caller, reason: string) {
    this.#caller = caller;
    this.#reason = reason;
  }

  call<Key extends RouteKey>(
    key: Key,
    ...[request]: object extends ApiRequest<Key> ? [ApiRequest<Key>?] : [ApiRequest<Key>]
  ): Promise<Api[Key]["data"]> {
    const reasoned = withReason(apiRoutes[key], (request ?? {}) as AnyRequest, this.#reason);
    return this.#caller.call(key, reasoned as ApiRequest<Key>);
  }
}

interface AnyRequest {
  readonly query?: object;
  readonly body?: object;
}

/** Routes that delete take the reason in the query, all others in the body. */
function withReason({ action, body, query }: Route, request: AnyRequest, reason: string): AnyRequest {
  if (action === undefined) return request;
  if (hasReason(body)) return { ...request, body: { ...request.body, reason } };
  if (hasReason(query)) return { ...request, query: { ...request.query, reason } };
  return request;
}

function hasReason(schema: Route["body"]): boolean {
  return Object.hasOwn((schema as { properties?: object } | undefined)?.properties ?? {}, "reason");
}
