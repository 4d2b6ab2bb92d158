import { didYouMean, TallymanError } from "../errors/index.ts";
import type { ReceivedCommand } from "./command.ts";
import type { CommandContext, CommandHandler } from "./command-handler.ts";
import type { CommandSchemas, CommandType } from "./command-schemas.ts";
import type { ClaimedRow } from "./sql/claim.ts";

/** A worker's handlers by command type. */
export class Handlers {
  readonly #domain: string;
  readonly #schemas: CommandSchemas;
  readonly #handlers = new Map<string, CommandHandler>();

  constructor(domain: string, schemas: CommandSchemas) {
    this.#domain = domain;
    this.#schemas = schemas;
  }

  /** @throws TallymanError INVALID_STATE when the type has a handler, or belongs to another domain */
  add(type: string | CommandType, handler: CommandHandler): void {
    const name = typeof type === "string" ? type : type.commandType;
    if (typeof type !== "string") {
      if (type.domain !== this.#domain) {
        throw new TallymanError(
          "INVALID_STATE",
          `${name} is of domain '${type.domain}', not '${this.#domain}'.`,
        );
      }
      this.#schemas.register(type);
    }
    if (this.#handlers.has(name)) throw new TallymanError("INVALID_STATE", `${name} has a handler already.`);
    this.#handlers.set(name, handler);
  }

  /**
   * What the command's handler returns: a promise, if it waits or the data has a schema.
   *
   * @throws TallymanError COMMAND_TYPE_UNKNOWN, COMMAND_INVALID; or what the handler throws
   */
  run(claimed: ClaimedRow, context: CommandContext): unknown {
    const { commandType, data } = claimed;
    const handler = this.#handlerOf(commandType);
    if (!this.#schemas.has(this.#domain, commandType)) return handler(this.#received(claimed, data), context);
    return this.#schemas
      .check(this.#domain, commandType, data)
      .then((checked) => handler(this.#received(claimed, checked), context));
  }

  #handlerOf(commandType: string): CommandHandler {
    const handler = this.#handlers.get(commandType);
    if (handler) return handler;
    const known = [...this.#handlers.keys()];
    const hint = known.length === 0 ? "It has no handlers." : didYouMean(commandType, known);
    throw new TallymanError(
      "COMMAND_TYPE_UNKNOWN",
      `The worker of domain '${this.#domain}' has no handler for '${commandType}'; known types: ${known.join(", ") || "none"}. ${hint}`,
      { details: { commandType, known } },
    );
  }

  #received(claimed: ClaimedRow, data: unknown): ReceivedCommand {
    const { commandId, commandType, batchId, correlationId, replyTo, priority, lostLeases } = claimed;
    return {
      domain: this.#domain,
      commandId,
      commandType,
      data,
      batchId,
      correlationId,
      replyTo,
      priority,
      attempt: claimed.attempts + 1,
      lostLeases,
      createdAt: new Date(claimed.createdMs),
    };
  }
}
