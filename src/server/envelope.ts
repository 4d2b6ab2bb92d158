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

/** The body of a failure. */
export type FailureBody = Static<typeof Failure>;

/** `{ success: true, data }`, the form of every success. */
export function successOf<Data extends TSchema>(data: Data) {
  return Type.Object({ success: Type.Literal(true), data });
}
