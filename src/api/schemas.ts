import { type TSchema, Type } from "typebox";
import { runIdPatternText } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { idPatternText } from "../scheduler/index.ts";
import { topicNamePatternText } from "../topics/index.ts";
import { closed } from "./route.ts";

/** A moment as ISO 8601 text. */
export const Timestamp = Type.String({ format: "date-time" });

/** A moment, or null. */
export const MaybeTimestamp = Type.Unsafe<string | null>({ type: ["string", "null"], format: "date-time" });

/** A text, or null. */
export const MaybeText = Type.Unsafe<string | null>({ type: ["string", "null"] });

/** A whole number, or null. */
export const MaybeInteger = Type.Unsafe<number | null>({ type: ["integer", "null"] });

/** Any number, or null. */
export const MaybeNumber = Type.Unsafe<number | null>({ type: ["number", "null"] });

/** One of these texts. */
export function oneOf<const Texts extends readonly string[]>(texts: Texts) {
  return Type.Unsafe<Texts[number]>({ type: "string", enum: texts });
}

/** The id of a worker or coordinator. */
export const Id = Type.String({ pattern: idPatternText, maxLength: 200 });

/** A UUID. */
export const Uuid = Type.String({ format: "uuid" });

/** A text; PostgreSQL stores every character but NUL, and no half of a pair of surrogates. */
export function text({ min = 0, max }: { readonly min?: number; readonly max: number }) {
  return Type.String({ minLength: min, maxLength: max, pattern: "^[^\\u0000\\ud800-\\udfff]*$" });
}

/** The name of a domain, command type, topic, group, job, … */
export const Name = text({ min: 1, max: 255 });

/** The name of a topic or consumer group. */
export const TopicName = Type.String({ pattern: topicNamePatternText });

/** The id of a simulation run. */
export const RunId = Type.String({ pattern: runIdPatternText });

/** The number of a tick, or of anything else that only grows. */
export const Tick = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Why somebody acts, for the audit. */
export const Reason = Type.Optional(text({ max: 1_000 }));

/** How many items of a page. */
export const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }));

/** Where the next page begins, as the page before said. */
export const Cursor = Type.Optional(text({ min: 1, max: 400 }));

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

/** Where the next page begins, in lists that are in the order of a number. */
export const NumberCursor = Type.Optional(Tick);

/**
 * A {@link Timestamp} as a date.
 *
 * @throws TallymanError REQUEST_INVALID for what has the form and is no moment, such as a leap second
 */
export function toDate(field: string, text: string): Date {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  throw invalidField(field, `'${text}' is no moment in time`);
}

/** A field that its schema lets pass, and that is wrong all the same. */
export function invalidField(field: string, reason: string): TallymanError {
  return new TallymanError("REQUEST_INVALID", `Field '${field}' is wrong: ${reason}.`, {
    details: { field },
  });
}

/** How much an action changed. */
export const Changed = Type.Object({ changed: Type.Integer() }, closed);
