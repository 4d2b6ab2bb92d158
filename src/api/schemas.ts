import { type TSchema, Type } from "typebox";
import { idPatternText } from "../scheduler/index.ts";
import { closed } from "./route.ts";

/** A moment as ISO 8601 text. */
export const Timestamp = Type.String({ format: "date-time" });

/** A moment, or null. */
export const MaybeTimestamp = Type.Unsafe<string | null>({ type: ["string", "null"], format: "date-time" });

/** A text, or null. */
export const MaybeText = Type.Unsafe<string | null>({ type: ["string", "null"] });

/** A whole number, or null. */
export const MaybeInteger = Type.Unsafe<number | null>({ type: ["integer", "null"] });

/** One of these texts. */
export function oneOf<const Texts extends readonly string[]>(texts: Texts) {
  return Type.Unsafe<Texts[number]>({ type: "string", enum: texts });
}

/** The id of a worker or coordinator. */
export const Id = Type.String({ pattern: idPatternText, maxLength: 200 });

/** A UUID. */
export const Uuid = Type.String({ format: "uuid" });

/** A text; PostgreSQL stores every character but NUL. */
export function text({ min = 0, max }: { readonly min?: number; readonly max: number }) {
  return Type.String({ minLength: min, maxLength: max, pattern: "^[^\\u0000]*$" });
}

/** The name of a domain, command type, topic, group, job, … */
export const Name = text({ min: 1, max: 255 });

/** Why somebody acts, for the audit. */
export const Reason = Type.Optional(text({ max: 1_000 }));

/** How many items of a page. */
export const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }));

/** Where the next page begins, as the page before said. */
export const Cursor = Type.Optional(text({ min: 1, max: 400 }));

/** Like {@link Cursor}, where items are numbered. */
export const NumberCursor = Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }));

/** A page of a list: ask again with `nextCursor` until that is null. */
export function page<Item extends TSchema>(item: Item) {
  return Type.Object({ items: Type.Array(item), nextCursor: MaybeText }, closed);
}

/** Items as a {@link page}, when as many were asked for as `limit` says. */
export function toPage<Item>(
  items: readonly Item[],
  limit: number,
  cursorOf: (item: Item) => string,
): { items: readonly Item[]; nextCursor: string | null } {
  const last = items.at(-1);
  return { items, nextCursor: last !== undefined && items.length >= limit ? cursorOf(last) : null };
}

/** Default of {@link Limit}. */
export const limitDefault = 100;
