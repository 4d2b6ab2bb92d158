import type { BatchCommand } from "./command.ts";
import type { CommandSchemas } from "./command-schemas.ts";
import { DuplicateCommandError } from "./errors.ts";
import { type SerializedCommand, serializeCommand } from "./serialize.ts";
import { enqueueChunkMax } from "./sql/enqueue.ts";

/** What commands are checked against. */
export interface PreparationRules {
  readonly schemas: CommandSchemas;
  readonly payloadBytesMax: number;
  /** For commands that name none of their own. */
  readonly priority?: number;
}

/**
 * The commands of one call, checked and serialised a chunk at a time, so that the server stores one chunk
 * while the next is made. A chunk that was made is kept: a transaction may be run again.
 */
export class Preparation {
  readonly domain: string;
  readonly size: number;
  readonly #commands: readonly BatchCommand[];
  readonly #rules: PreparationRules;
  readonly #chunks: SerializedCommand[][] = [];
  readonly #seen = new Set<string>();

  constructor(domain: string, commands: readonly BatchCommand[], rules: PreparationRules) {
    this.domain = domain;
    this.size = commands.length;
    this.#commands = commands;
    this.#rules = rules;
  }

  /** Ids in the order of the commands, of the chunks made so far. */
  get commandIds(): string[] {
    return this.#chunks.flat().map(({ commandId }) => commandId);
  }

  /**
   * Makes everything now: in a caller's transaction nothing may be stored before all is known to be good.
   *
   * @throws as {@link chunks}
   */
  async finish(): Promise<void> {
    for await (const _ of this.chunks());
  }

  /** @throws DuplicateCommandError; TallymanError COMMAND_INVALID, COMMAND_TOO_LARGE */
  async *chunks(): AsyncGenerator<readonly SerializedCommand[]> {
    for (let from = 0, index = 0; from < this.size; from += enqueueChunkMax, index++) {
      const chunk =
        this.#chunks[index] ?? (await this.#make(this.#commands.slice(from, from + enqueueChunkMax)));
      this.#chunks[index] = chunk;
      yield chunk;
    }
  }

  async #make(commands: readonly BatchCommand[]): Promise<SerializedCommand[]> {
    const { schemas } = this.#rules;
    const chunk: SerializedCommand[] = [];
    for (const command of commands) {
      const { commandType, data } = command;
      if (schemas.has(this.domain, commandType)) await schemas.check(this.domain, commandType, data);
      const serialized = serializeCommand(this.domain, command, this.#rules);
      if (this.#seen.has(serialized.commandId)) {
        throw new DuplicateCommandError(this.domain, serialized.commandId);
      }
      this.#seen.add(serialized.commandId);
      chunk.push(serialized);
    }
    return chunk;
  }
}
