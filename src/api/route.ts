import type { Static, TObject, TSchema } from "typebox";
import { Type } from "typebox";
import type { ActionOutcome, Tallyman } from "../app/index.ts";
import { TallymanError } from "../errors/index.ts";
import type { Caller, Role } from "../operators/index.ts";
import { createOnce } from "../operators/index.ts";

/** A few figures of one moment. */
export interface OverviewSample {
  readonly at: Date;
  readonly completedPerSecond: number;
  readonly failedPerSecond: number;
  readonly backlog: number;
  readonly inTroubleshooting: number;
  readonly lag: number;
}

/** What routes work on. */
export interface RouteContext {
  readonly tallyman: Tallyman;
  /** Silence after which a worker that registers over HTTP is UNHEALTHY. */
  readonly heartbeatTimeoutMs: number;
  /** Fields of payloads that nobody is shown, by name. */
  readonly redactedFields: readonly string[];
  /** The last hour, as far as this process has seen it. */
  samples(): readonly OverviewSample[];
}

/** One call, whatever brought it here. */
export interface RouteRequest<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  readonly requestId: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** What a route takes and gives. */
export interface RouteSpec<
  Params extends TSchema = TSchema,
  Query extends TSchema = TSchema,
  Body extends TSchema = TSchema,
  Data extends TSchema = TSchema,
> {
  /** One line for the documentation. */
  readonly summary: string;
  /** The least role that may use it; `anyone` needs no token. */
  readonly role: Role | "anyone";
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly data: Data;
  /** The same data as bytes, for whoever asks with `format=binary`. */
  readonly binary?: {
    /** Where which byte is. */
    readonly description: string;
    encode(data: Sent<Static<Data>>): Uint8Array;
  };
}

/**
 * A value that becomes this JSON: what is a text there may be a Date here. Readonly throughout, so that what the
 * library returns can be passed on.
 */
export type Sent<T> = T extends string
  ? string extends T
    ? T | Date
    : T
  : T extends readonly (infer Item)[]
    ? readonly Sent<Item>[]
    : T extends object
      ? { readonly [K in keyof T]: Sent<T[K]> }
      : T;

/** One entry of the API: its contract and what it does. */
export interface Route<
  Params extends TSchema = TSchema,
  Query extends TSchema = TSchema,
  Body extends TSchema = TSchema,
  Data extends TSchema = TSchema,
> extends RouteSpec<Params, Query, Body, Data> {
  /** The name in the audit; undefined for what is not an operator's action. */
  readonly action?: string;
  /** Whether an Idempotency-Key is heeded. */
  readonly isCreating?: boolean;
  run(
    context: RouteContext,
    request: RouteRequest<Static<Params>, Static<Query>, Static<Body>>,
  ): Promise<Sent<Static<Data>>>;
}

/** No parameters at all. */
export type Nothing = TObject<Record<never, never>>;

type Run<Params extends TSchema, Query extends TSchema, Body extends TSchema, Result> = (
  tallyman: Tallyman,
  request: RouteRequest<Static<Params>, Static<Query>, Static<Body>>,
  context: RouteContext,
) => Promise<Result>;

/** A route that looks, or that belongs to the protocol of workers and coordinators: nothing is written in the audit. */
export function route<
  Data extends TSchema,
  Params extends TSchema = Nothing,
  Query extends TSchema = Nothing,
  Body extends TSchema = Nothing,
>(
  spec: RouteSpec<Params, Query, Body, Data>,
  run: Run<Params, Query, Body, Sent<Static<Data>>>,
): Route<Params, Query, Body, Data> {
  return { ...spec, run: (context, request) => run(context.tallyman, request, context) };
}

/** What an action did, and what is left to do once that is certain. */
export interface ActionResult<T> extends Omit<ActionOutcome<T>, "data"> {
  readonly data?: T;
  /** Runs after the commit and gives the answer: for what must not, or can't, happen inside the transaction. */
  readonly afterwards?: () => Promise<T>;
}

/** A route that changes something for an operator: done and written down in one transaction. */
export function action<
  Data extends TSchema,
  Params extends TSchema = Nothing,
  Query extends TSchema = Nothing,
  Body extends TSchema = Nothing,
>(
  spec: RouteSpec<Params, Query, Body, Data> & { readonly action: string; readonly isCreating?: boolean },
  run: Run<Params, Query, Body, ActionResult<Sent<Static<Data>>>>,
): Route<Params, Query, Body, Data> {
  return {
    ...spec,
    run: async (context, request) => {
      const { tallyman } = context;
      const { caller, requestId } = request;
      const who = { actor: caller.actor, action: spec.action, reason: reasonOf(request), requestId };
      const outcome = await tallyman.act(who, async (inside) => {
        const result = await once(inside, spec, request, () => run(inside, request, context));
        return { data: result, target: result.target, changed: result.changed };
      });
      return outcome.afterwards ? outcome.afterwards() : (outcome.data as Sent<Static<Data>>);
    },
  };
}

const keyHeader = "idempotency-key";
/** Letters of an Idempotency-Key at most. */
export const keyLettersMax = 255;

/** Heeds an Idempotency-Key: a repetition is answered as before, and changes nothing. */
async function once<T>(
  inside: Tallyman,
  { action: name, isCreating }: { readonly action: string; readonly isCreating?: boolean },
  { caller, headers, params, query, body }: RouteRequest,
  run: () => Promise<ActionResult<T>>,
): Promise<ActionResult<T>> {
  const key = headers[keyHeader];
  if (!isCreating || key === undefined) return run();
  if (key.length < 1 || key.length > keyLettersMax)
    throw new TallymanError(
      "REQUEST_INVALID",
      `Header 'Idempotency-Key' must have 1 to ${keyLettersMax} letters.`,
      {
        details: { field: "Idempotency-Key" },
      },
    );
  const call = { actor: caller.actor, key, request: { name, params, query, body } };
  const { answer, isRepeated } = await inside.database.transaction((tx) => createOnce(tx, call, run));
  return isRepeated ? { ...answer, target: { ...answer.target, repeated: true }, changed: 0 } : answer;
}

function reasonOf({ body, query }: RouteRequest): string | undefined {
  const { reason } = { ...(query as object), ...(body as object) } as { reason?: unknown };
  return typeof reason === "string" ? reason : undefined;
}

/** The types of an API, by the key of each route. */
export type ContractOf<Routes> = {
  readonly [K in keyof Routes]: Routes[K] extends Route<infer Params, infer Query, infer Body, infer Data>
    ? { params: Static<Params>; query: Static<Query>; body: Static<Body>; data: Static<Data> }
    : never;
};

/** Any object but these fields is refused, with the field's name. */
export const closed = { additionalProperties: false } as const;

/** The schema of parts that a route does not have. */
export const nothing = Type.Object({}, closed);
