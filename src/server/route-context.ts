import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from "fastify";
import { Type } from "typebox";
import type { Tallyman } from "../app/index.ts";
import { idPatternText } from "../scheduler/index.ts";

/** Fastify, with types that follow from each route's schema. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** What routes work on. */
export interface RouteContext {
  readonly tallyman: Tallyman;
  readonly heartbeatTimeoutMs: number;
}

/** The id of a worker or coordinator. */
export const Id = Type.String({ pattern: idPatternText, maxLength: 200 });

/** A moment as ISO 8601 text. */
export const Timestamp = Type.String({ format: "date-time" });

/** Any object but these fields is refused, with the field's name. */
export const closed = { additionalProperties: false } as const;
