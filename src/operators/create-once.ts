import { createHash } from "node:crypto";
import type { Transaction } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { claimKey, storeAnswer } from "./sql/idempotency-key.ts";

/** One creating call under a key that its sender chose. */
export interface IdempotentCall {
  readonly actor: string;
  readonly key: string;
  /** What was asked for; the same key for something else is an error. */
  readonly request: unknown;
}

/**
 * Runs `create` for the first call under a key and answers later ones with what the first one answered. A call that
 * comes while the first is under way waits for it. Keys are kept for a day.
 *
 * @throws TallymanError IDEMPOTENCY_KEY_REUSED when the key was used for another request
 */
export async function createOnce<T>(
  tx: Transaction,
  { actor, key, request }: IdempotentCall,
  create: () => Promise<T>,
): Promise<{ answer: T; isRepeated: boolean }> {
  const requestHash = createHash("sha256").update(JSON.stringify(request)).digest();
  const stored = await claimKey(tx, actor, key, requestHash);
  if (stored === undefined) {
    const answer = await create();
    await storeAnswer(tx, actor, key, answer);
    return { answer, isRepeated: false };
  }
  if (!stored.requestHash.equals(requestHash)) {
    throw new TallymanError(
      "IDEMPOTENCY_KEY_REUSED",
      `The Idempotency-Key '${key}' was used for another request.`,
      {
        details: { key },
      },
    );
  }
  return { answer: stored.answer as T, isRepeated: true };
}
