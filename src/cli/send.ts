import { Command } from "commander";
import { defaultDomain, given, parseJson, parseNumber, parseTime } from "./command-options.ts";
import { withCaller } from "./open.ts";
import { type GlobalOptions, printResult } from "./output.ts";

interface Options extends GlobalOptions {
  readonly domain: string;
  readonly data: string;
  readonly id?: string;
  readonly batch?: string;
  readonly replyTo?: string;
  readonly priority?: string;
  readonly maxAttempts?: string;
  readonly runAt?: string;
}

/** `tallyman send`: one command. */
export function sendCommand(): Command {
  return new Command("send")
    .description("send one command")
    .argument("<type>", "the command's type")
    .option("--domain <name>", "its domain", defaultDomain)
    .option("--data <json>", "its data", "{}")
    .option("--id <uuid>", "its id (default: a new one)")
    .option("--batch <uuid>", "add it to this open batch")
    .option("--reply-to <queue>", "queue for the reply")
    .option("--priority <n>", "higher runs first")
    .option("--max-attempts <n>", "attempts before the troubleshooting queue")
    .option("--run-at <time>", "not before this time, e.g. 2030-01-31T08:00:00Z")
    .addHelpText("after", `\nExample:\n  $ tallyman send ShipOrder --domain orders --data '{"orderId": 7}'`)
    .action(async (type: string, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const { domain } = options;
      const body = { commandType: type, ...toSend(options) };
      const { commandId } = await withCaller(options, (caller) =>
        caller.call("POST /api/domains/:domain/commands", { params: { domain }, body }),
      );
      printResult(
        options,
        { domain, commandId, commandType: type },
        `Sent ${type} ${commandId} to domain '${domain}'.`,
      );
    });
}

function toSend({ data, id, batch, replyTo, priority, maxAttempts, runAt }: Options) {
  return {
    data: parseJson("--data", data),
    ...given({
      commandId: id,
      batchId: batch,
      replyTo,
      priority:
        priority === undefined ? undefined : parseNumber("--priority", priority, Number.MIN_SAFE_INTEGER),
      maxAttempts: maxAttempts === undefined ? undefined : parseNumber("--max-attempts", maxAttempts),
      runAt: runAt === undefined ? undefined : parseTime("--run-at", runAt).toISOString(),
    }),
  };
}
