import { Command, Option } from "commander";
import type { Api } from "../client/index.ts";
import { type Role, roles } from "../operators/index.ts";
import { type AuditedOptions, audited } from "./audited.ts";
import { given, parseDuration } from "./command-options.ts";
import { withCaller } from "./open.ts";
import { alignColumns, type GlobalOptions, printResult } from "./output.ts";

/** `tallyman token`: who may use the HTTP API. */
export function tokenCommand(): Command {
  return new Command("token")
    .description("make, list and revoke access tokens of the HTTP API")
    .addCommand(audited(createCommand()))
    .addCommand(listCommand())
    .addCommand(audited(revokeCommand()));
}

interface CreateOptions extends AuditedOptions {
  readonly name: string;
  readonly role: Role;
  readonly expires?: string;
  /** False with `--no-payloads`. */
  readonly payloads: boolean;
}

function createCommand(): Command {
  return new Command("create")
    .description("make an access token; its text is shown once, and never again")
    .requiredOption("--name <name>", "who or what uses it; the audit shows this name")
    .addOption(
      new Option("--role <role>", "read looks, operate sends and repairs, admin does everything")
        .choices(roles)
        .makeOptionMandatory(),
    )
    .option("--expires <duration>", "how long it is in force: 12h, 30d (default: until it is revoked)")
    .option("--no-payloads", "it may not see the data and results of commands")
    .addHelpText(
      "after",
      "\nFrom the first token on every caller needs one, also on this machine.\n\nExamples:\n  $ tallyman token create --name grafana --role read --no-payloads\n  $ TALLYMAN_TOKEN=$(tallyman token create --name mia --role admin --expires 30d --json | jq -r .token)",
    )
    .action(async (_options: CreateOptions, command: Command) => {
      const options = command.optsWithGlobals<CreateOptions>();
      const { name, role, expires, payloads: canViewPayloads } = options;
      const expiresInMs = expires === undefined ? undefined : parseDuration("--expires", expires);
      const body = { name, role, canViewPayloads, ...given({ expiresInMs }) };
      const created = await withCaller(options, (caller) => caller.call("POST /api/tokens", { body }));
      const { tokenId, token } = created;
      const text = `${token}\n\nToken ${tokenId} of '${name}' with the role ${role}. Keep the text above: it is not shown again.`;
      printResult(options, { tokenId, token, name, role, canViewPayloads }, text);
    });
}

function listCommand(): Command {
  return new Command("list")
    .description("list the access tokens, newest first; their texts are not kept")
    .addHelpText("after", "\nExample:\n  $ tallyman token list")
    .action(async (_options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const tokens = await withCaller(options, (caller) => caller.call("GET /api/tokens"));
      printResult(options, tokens, tokens.length === 0 ? "There are no access tokens." : table(tokens));
    });
}

function revokeCommand(): Command {
  return new Command("revoke")
    .description("end an access token, and every log-in with it")
    .argument("<tokenId>", "its id, as 'token list' shows it")
    .addHelpText("after", "\nExample:\n  $ tallyman token revoke Zk3mB0pQx1yA --reason 'mia has left'")
    .action(async (tokenId: string, _options: AuditedOptions, command: Command) => {
      const options = command.optsWithGlobals<AuditedOptions>();
      const revoked = await withCaller(options, (caller) =>
        caller.call("POST /api/tokens/:tokenId/revoke", { params: { tokenId } }),
      );
      printResult(options, revoked, `Token ${tokenId} is revoked.`);
    });
}

function table(tokens: Api["GET /api/tokens"]["data"]): string {
  const rows = tokens.map(({ tokenId, name, role, canViewPayloads, createdAt, expiresAt, revokedAt }) => [
    tokenId,
    name,
    role,
    canViewPayloads ? "yes" : "no",
    createdAt,
    revokedAt === null ? (expiresAt ?? "never") : `revoked ${revokedAt}`,
  ]);
  return alignColumns([["TOKEN", "NAME", "ROLE", "PAYLOADS", "CREATED", "ENDS"], ...rows]);
}
