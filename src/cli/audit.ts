import { Command } from "commander";
import type { Api } from "../client/index.ts";
import { given, parseNumber } from "./command-options.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

interface Options extends GlobalOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly limit: string;
  readonly cursor?: string;
}

/** `tallyman audit`: what operators did. */
export function auditCommand(): Command {
  return new Command("audit")
    .description("list what operators did, newest first: who, what, to what, how much, why")
    .option("--actor <name>", "only what this one did")
    .option("--action <name>", "only this action, such as tsq.retry; tsq means all that begin so")
    .option("--limit <n>", "actions at most, up to 1000", "20")
    .option("--cursor <actionId>", "go on after this action")
    .addHelpText(
      "after",
      "\nExample:\n  $ tallyman audit --action tsq --json | jq '.[] | [.actor, .changed]'",
    )
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const { actor, action, limit, cursor } = options;
      const query = {
        ...given({
          actor,
          action,
          cursor: cursor === undefined ? undefined : parseNumber("--cursor", cursor),
        }),
        limit: parseNumber("--limit", limit),
      };
      const { items } = await withCaller(options, (caller) => caller.call("GET /api/actions", { query }));
      printResult(options, items, items.length === 0 ? "Nobody did such a thing." : table(items));
    });
}

function table(actions: Api["GET /api/actions"]["data"]["items"]): string {
  const rows = actions.map(({ createdAt, actor, action, changed, target, reason }) => [
    createdAt,
    actor,
    action,
    `${changed}`,
    JSON.stringify(target),
    reason ?? "",
  ]);
  return alignColumns([["TIME", "ACTOR", "ACTION", "CHANGED", "TARGET", "REASON"], ...rows]);
}
