import { TallymanError } from "../errors/index.ts";
import type { BatchToClaim } from "./sql/claim-batches.ts";

const filenameCharactersMax = 1_000;

/** @throws TallymanError INVALID_OPTION for a name or range that no batch file can have */
export function refuseBadBatch({ filename, tickStart, tickEnd }: BatchToClaim): void {
  if (typeof filename !== "string" || filename === "" || filename.length > filenameCharactersMax) {
    throw new TallymanError(
      "INVALID_OPTION",
      `A batch file name has 1 to ${filenameCharactersMax} characters.`,
    );
  }
  refuseBadTicks(tickStart, tickEnd);
}

/** @throws TallymanError INVALID_OPTION for what is not a range of ticks */
export function refuseBadTicks(start: number, end: number): void {
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start) return;
  throw new TallymanError(
    "INVALID_OPTION",
    `[${start}, ${end}] is not a range of ticks: 0 ≤ start ≤ end, whole numbers.`,
    {
      details: { start, end },
    },
  );
}

/** @throws TallymanError INVALID_OPTION for what is not an interval of sampling */
export function refuseBadInterval(samplingInterval: number): void {
  if (Number.isSafeInteger(samplingInterval) && samplingInterval > 0) return;
  throw new TallymanError(
    "INVALID_OPTION",
    `samplingInterval must be a positive whole number, not ${samplingInterval}.`,
  );
}
