import { Type } from "typebox";
import { TallymanError } from "../../errors/index.ts";
import { action, closed, route } from "../route.ts";
import { Limit, limitDefault, Name, page, Reason, toPage, Uuid } from "../schemas.ts";
import { AuditEvent, Command, NewCommand, shownCommand, toCommand } from "./command-schemas.ts";

const OneCommand = Type.Object({ domain: Name, commandId: Uuid }, closed);

/** Commands of the bus. */
export const commandRoutes = {
  "POST /api/domains/:domain/commands": action(
    {
      summary: "Send one command",
      role: "operate",
      action: "command.send",
      isCreating: true,
      params: Type.Object({ domain: Name }, closed),
      body: Type.Object({ ...NewCommand.properties, batchId: Type.Optional(Uuid) }, closed),
      data: Type.Object({ commandId: Uuid }, closed),
    },
    async ({ commands }, { params: { domain }, body: { batchId, ...command } }) => {
      const { commandType, ...options } = toCommand(command);
      const commandId = await commands.send(domain, commandType, { ...options, ...(batchId && { batchId }) });
      return { data: { commandId }, target: { domain, commandType, commandId }, changed: 1 };
    },
  ),

  "GET /api/domains/:domain/commands": route(
    {
      summary: "List commands of a domain, newest first",
      role: "read",
      params: Type.Object({ domain: Name }, closed),
      query: Type.Object({ limit: Limit, cursor: Type.Optional(Uuid) }, closed),
      data: page(Command),
    },
    async ({ commands }, { params: { domain }, query, caller }, context) => {
      const { limit = limitDefault } = query;
      const found = await commands.listCommands(domain, { ...query, limit });
      return toPage(
        found.map((command) => shownCommand(command, caller, context)),
        limit,
        ({ commandId }) => commandId,
      );
    },
  ),

  "GET /api/domains/:domain/commands/:commandId": route(
    { summary: "Get one command", role: "read", params: OneCommand, data: Command },
    async ({ commands }, { params: { domain, commandId }, caller }, context) => {
      const command = await commands.getCommand(domain, commandId);
      if (!command) throw commandNotFound(domain, commandId);
      return shownCommand(command, caller, context);
    },
  ),

  "GET /api/domains/:domain/commands/:commandId/history": route(
    {
      summary: "List everything that happened to a command",
      role: "read",
      params: OneCommand,
      data: Type.Array(AuditEvent),
    },
    ({ commands }, { params: { domain, commandId } }) => commands.history(domain, commandId),
  ),

  "POST /api/domains/:domain/commands/:commandId/cancel": action(
    {
      summary: "Cancel a command that nobody has begun",
      role: "operate",
      action: "command.cancel",
      params: OneCommand,
      body: Type.Object({ reason: Reason }, closed),
      data: Type.Object({ commandId: Uuid }, closed),
    },
    async ({ commands }, { params: { domain, commandId }, caller, body: { reason } }) => {
      await commands.cancelCommand(domain, commandId, {
        operator: caller.actor,
        ...(reason !== undefined && { reason }),
      });
      return { data: { commandId }, target: { domain, commandId }, changed: 1 };
    },
  ),
};

function commandNotFound(domain: string, commandId: string): TallymanError {
  return new TallymanError("COMMAND_NOT_FOUND", `Domain '${domain}' has no command ${commandId}.`, {
    details: { domain, commandId },
  });
}
