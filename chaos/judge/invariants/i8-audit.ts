import type { OperatorAction } from "../evidence.ts";
import type { Facts } from "../facts.ts";
import type { Violation } from "../violation.ts";

const violation = (kind: Violation["kind"], what: string): Violation => ({ invariant: "I8", kind, what });

/** I8: one audit row for each action of an operator and each command of it; none for what was not done. */
export function checkAudit({ evidence, commands }: Facts): Violation[] {
  if (!commands) return [];
  const rows = new Map<string, number>();
  for (const { operator, commandId } of commands.operated)
    rows.set(`${operator} ${commandId}`, (rows.get(`${operator} ${commandId}`) ?? 0) + 1);
  const known = new Set(evidence.actions.map(({ operator }) => operator));
  const strangers = commands.operated.filter(({ operator }) => !known.has(operator));
  return [
    ...evidence.actions.flatMap((action) => actionFaults(action, rows)),
    ...strangers.map(({ operator }) => violation("wrong", `the audit knows ${operator}, who did nothing`)),
  ];
}

function actionFaults(
  { operator, outcome, commandIds }: OperatorAction,
  rows: ReadonlyMap<string, number>,
): Violation[] {
  const counts = commandIds.map((commandId) => rows.get(`${operator} ${commandId}`) ?? 0);
  const isAllOrNone = counts.every((count) => count === counts[0]);
  if (outcome === "unknown" && isAllOrNone && (counts[0] ?? 0) <= 1) return [];
  const expected = outcome === "done" ? 1 : 0;
  return counts.flatMap((count, index) => {
    if (outcome !== "unknown" && count === expected) return [];
    const kind = count > 1 ? "doubled" : count < expected ? "lost" : "wrong";
    return [
      violation(kind, `${operator} acted on ${commandIds[index]} (${outcome}), the audit has ${count} rows`),
    ];
  });
}
