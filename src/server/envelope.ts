import { type Static, type TSchema, Type } from "typebox";

/** `{ success: false, error }`, the form of every failure. */
export const Failure = Type.Object({
  success: Type.Literal(false),
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    details: Type.Record(Type.String(), Type.Unknown()),
  }),
});

/** The response schemas of a route that answers with `data`. */
export function answers<Data extends TSchema>(data: Data) {
  return {
    200: Type.Object({ success: Type.Literal(true), data }),
    "4xx": Failure,
    "5xx": Failure,
  } as const;
}

/** Wraps what a route answers. */
export function success<Data>(data: Data): { success: true; data: Data } {
  return { success: true, data };
}

/** The body of a failure. */
export type FailureBody = Static<typeof Failure>;
