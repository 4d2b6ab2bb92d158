import type { ApiRequest } from "../../../src/client/index.ts";
import { type Proposal, propose } from "../actions.ts";
import { call } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { counted } from "../format.ts";

/** Commands by id, or all that match. */
export type RepairTarget = Pick<
  ApiRequest<"POST /api/tsq/retry">["body"] & object,
  "domain" | "commandIds" | "matching"
>;

const repairs = [
  {
    verb: "Retry",
    key: "POST /api/tsq/retry",
    past: "sent back to the workers",
    text: "The commands go back to the workers, with all attempts anew.",
  },
  {
    verb: "Complete",
    key: "POST /api/tsq/complete",
    past: "completed by hand",
    text: "The commands end as completed, although no handler has succeeded: their effect must be there already.",
  },
  {
    verb: "Cancel",
    key: "POST /api/tsq/cancel",
    past: "cancelled",
    text: "The commands end as cancelled and are not carried out.",
  },
] as const;

type Repair = (typeof repairs)[number];

interface RepairButtonsProps {
  readonly target: RepairTarget;
  readonly isDisabled?: boolean;
  /** Called when something has changed. */
  done(): void;
}

/** Retry, complete, cancel: each through the dialog, with the count of what it would change. */
export function RepairButtons({ target, isDisabled = false, done }: RepairButtonsProps) {
  return (
    <div class="buttons">
      {repairs.map((repair) => (
        <ActionButton
          key={repair.verb}
          isDisabled={isDisabled}
          onClick={() => propose(proposalOf(repair, target, done))}
        >
          {repair.verb} …
        </ActionButton>
      ))}
    </div>
  );
}

function proposalOf(repair: Repair, target: RepairTarget, done: () => void): Proposal {
  const { verb, text, past, key } = repair;
  let counting: Promise<number> | undefined;
  const countOnce = () => {
    counting ??= countOf(target);
    return counting;
  };
  return {
    title: `${verb} ${target.matching ? "all matching" : counted(target.commandIds?.length ?? 0, "command")}`,
    text,
    preview: async () => `${counted(await countOnce(), "command")} would change.`,
    confirm: verb,
    isDangerous: verb === "Cancel",
    run: async (reason) => {
      const body = { ...target, ...(reason && { reason }) };
      const changed = await repairAll(key, body, await countOnce());
      done();
      return `${counted(changed, "command")} ${past}.`;
    },
  };
}

async function countOf({ matching, commandIds = [] }: RepairTarget): Promise<number> {
  if (!matching) return commandIds.length;
  return (await call("GET /api/tsq/preview", { query: matching })).matched;
}

/**
 * The server changes a bounded number per call and says what is left. What comes back into the queue meanwhile is left
 * there: a handler that fails at once would have it retried for ever.
 */
async function repairAll(
  key: Repair["key"],
  body: RepairTarget & { readonly reason?: string },
  matched: number,
): Promise<number> {
  let total = 0;
  while (total < matched) {
    const limit = body.matching && { limit: matched - total };
    const { changed, remaining } = await call(key, { body: { ...body, ...limit } });
    total += changed;
    if (remaining === 0 || changed === 0) break;
  }
  return total;
}
