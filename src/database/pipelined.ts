/**
 * Awaits statements that were sent in one go, as a whole. When some fail, the first one in the order
 * of sending is the cause; those behind it only echo that the transaction is aborted. Awaiting them
 * one by one would leave rejections unhandled.
 *
 * @example
 * ```ts
 * const [, inserted] = await pipelined(tx.query("SELECT … FOR SHARE"), tx.query("INSERT …"));
 * ```
 */
export async function pipelined<Results extends readonly unknown[]>(
  ...statements: { [Index in keyof Results]: Promise<Results[Index]> }
): Promise<Results> {
  const outcomes = await Promise.allSettled(statements);
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed) throw failed.reason;
  return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<unknown>).value) as unknown as Results;
}
