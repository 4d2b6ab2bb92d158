/** Works on the domains "work" and "jobs"; each handler leaves its effect in a table without any key. */
import {
  BusinessRuleError,
  type CommandContext,
  type CommandHandler,
  PermanentError,
  type ReceivedCommand,
  TransientError,
} from "../../src/index.ts";
import { clock, openTallyman, serve, settings } from "./child-kit.ts";
import { names } from "./plan.ts";

const tallyman = await openTallyman();
const { database, commands } = tallyman;
const doer = `${settings.slot}.${settings.life}`;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Its effect commits with the command's completion. */
const effect: CommandHandler = async ({ domain, commandId }: ReceivedCommand, context: CommandContext) => {
  await pause(Math.random() * 5);
  return context.transaction(async (tx) => {
    await tx.query("INSERT INTO chaos.effect (domain, command_id, doer) VALUES ($1, $2, $3)", [
      domain,
      commandId,
      doer,
    ]);
    return { doer };
  });
};

/** Its effect commits by itself, before the outcome: at least once. */
const plain: CommandHandler = async ({ domain, commandId }: ReceivedCommand) => {
  await database.query("INSERT INTO chaos.attempt (domain, command_id, doer) VALUES ($1, $2, $3)", [
    domain,
    commandId,
    doer,
  ]);
};

const handlers: Record<string, CommandHandler> = {
  Effect: effect,
  Plain: plain,
  Flaky: (command, context) => {
    if (command.attempt === 1) throw new TransientError("not the first time");
    return effect(command, context);
  },
  Poison: () => {
    throw new PermanentError("poison");
  },
  Rule: () => {
    throw new BusinessRuleError("against the rules");
  },
  Hang: () => new Promise(() => undefined),
};

const workers = [names.workDomain, names.jobDomain].map((domain) =>
  commands.worker({
    domain,
    handlers,
    concurrency: 6,
    prefetch: 50,
    leaseMs: 1_500,
    pollIntervalMs: 300,
    maintenanceIntervalMs: 400,
    handlerTimeoutMs: 1_200,
    maxAttempts: 3,
    backoffMs: [100, 300],
    drainMs: 3_000,
    name: doer,
    clock,
  }),
);
await serve(workers);
