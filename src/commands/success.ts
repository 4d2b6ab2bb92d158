import { TallymanError } from "../errors/index.ts";
import { storableJson } from "./serialize.ts";
import type { ClaimedRow } from "./sql/claim.ts";
import type { Settlement } from "./sql/settle.ts";

/**
 * The command's end after its handler returned. Pure.
 *
 * @throws TallymanError COMMAND_INVALID for a result that can't be stored
 */
export function settlementOfSuccess({ id, delivery }: ClaimedRow, result: unknown): Settlement {
  const base = {
    id,
    delivery,
    outcome: "COMPLETED",
    event: "COMPLETED",
    isAttempt: true,
  } as const;
  if (result === undefined) return base;
  const json = storableJson(result);
  if (json === undefined)
    throw new TallymanError("COMMAND_INVALID", "The result is not JSON that can be stored.");
  return { ...base, result: json };
}
