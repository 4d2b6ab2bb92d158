import type { Caller } from "../operators/index.ts";
import { isSecretKey } from "../runtime/index.ts";
import type { RouteContext } from "./route.ts";

/** Stands where something is not shown. */
export const hiddenText = "[hidden]";
const depthMax = 64;

/**
 * A payload as this caller may see it: not at all without the right to; otherwise without the fields that the
 * configuration names, and those whose names say that they are secret.
 */
export function shownPayload(
  payload: unknown,
  { canViewPayloads }: Caller,
  { redactedFields }: RouteContext,
): unknown {
  if (payload === null || payload === undefined) return null;
  return canViewPayloads ? withoutFields(payload, new Set(redactedFields), 0) : hiddenText;
}

function withoutFields(value: unknown, fields: ReadonlySet<string>, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > depthMax) return hiddenText;
  if (Array.isArray(value)) return value.map((item) => withoutFields(item, fields, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      fields.has(key) || isSecretKey(key) ? hiddenText : withoutFields(item, fields, depth + 1),
    ]),
  );
}
