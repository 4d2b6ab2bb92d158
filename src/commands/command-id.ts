import { randomUUID } from "node:crypto";
import { TallymanError } from "../errors/index.ts";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const counterMask = 0xfff;
let counter = 0;

/**
 * A UUID of version 7: it begins with the time, so ids made together lie together in the index, which
 * random ones would scatter.
 */
export function newCommandId(): string {
  counter = (counter + 1) & counterMask;
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${randomUUID().slice(19)}`;
}

/** Refuses what PostgreSQL would not take as a uuid, by the name that the caller knows it under. */
export function refuseBadUuid(name: string, value: string): void {
  if (uuidPattern.test(value)) return;
  throw new TallymanError("COMMAND_INVALID", `${name} '${value}' is not a UUID.`, {
    details: { [name]: value },
  });
}
