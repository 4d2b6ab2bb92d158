import { Command } from "commander";
import type { Api } from "../client/index.ts";
import { type AuditedOptions, audited } from "./audited.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

/** `tallyman domain`: backlog and rates of each domain; pause and resume. */
export function domainCommand(): Command {
  return new Command("domain")
    .description("look at the domains of commands; pause and resume them")
    .addCommand(listCommand())
    .addCommand(actionCommand("pause", "hand out no more commands of a domain; those that run finish"))
    .addCommand(actionCommand("resume", "hand out a domain's commands again"));
}

function listCommand(): Command {
  return new Command("list")
    .description("list the domains that have something to do, or did in the last minute")
    .addHelpText("after", "\nExample:\n  $ tallyman domain list --json | jq '.[] | [.domain, .ready]'")
    .action(async (_options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const domains = await withCaller(options, (caller) => caller.call("GET /api/domains"));
      printResult(options, domains, domains.length === 0 ? "No domain has anything to do." : table(domains));
    });
}

function table(domains: Api["GET /api/domains"]["data"]): string {
  const rows = domains.map((domain) => [
    domain.domain,
    domain.isPaused ? "paused" : "running",
    `${domain.ready}`,
    `${domain.waiting}`,
    `${domain.inProgress}`,
    `${domain.inTroubleshooting}`,
    domain.completedPerSecond.toFixed(1),
    domain.failedPerSecond.toFixed(1),
  ]);
  const head = ["DOMAIN", "STATE", "READY", "WAITING", "RUNNING", "TROUBLED", "DONE/S", "FAILED/S"];
  return alignColumns([head, ...rows]);
}

function actionCommand(name: "pause" | "resume", description: string): Command {
  return audited(new Command(name))
    .description(description)
    .argument("<domain>", "the domain")
    .addHelpText("after", `\nExample:\n  $ tallyman domain ${name} orders`)
    .action(async (domain: string, _options: AuditedOptions, command: Command) => {
      const options = command.optsWithGlobals<AuditedOptions>();
      const answer = await withCaller(options, (caller) =>
        caller.call(`POST /api/domains/:domain/${name}`, { params: { domain } }),
      );
      printResult(options, answer, `${domain} is ${answer.isPaused ? "paused" : "running"}.`);
    });
}
