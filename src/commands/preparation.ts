import type { BatchCommand } from "./command.ts";
import type { CommandSchemas } from "./command-schemas.ts";
import { DuplicateCommandError } from "./errors.ts";
import { type SerializedCommand, serializeCommand } from "./serialize.ts";
import { enqueueChunkLettersMax, enqueueChunkMax } from "./sql/enqueue.ts";

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

  /** True when all is in one chunk, which needs no transaction around it. Call {@link finish} before. */
  get isOneChunk(): boolean {
    return this.#chunks.length <= 1;
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
    for (let from = 0, index = 0; from < this.size; index++) {
      const chunk = this.#chunks[index] ?? (await this.#make(from));
      this.#chunks[index] = chunk;
      yield chunk;
      from += chunk.length;
    }
  }

  async #make(from: number): Promise<SerializedCommand[]> {
    const { schemas } = this.#rules;
    const chunk: SerializedCommand[] = [];
    let letters = 0;
    for (const command of this.#commands.slice(from, from + enqueueChunkMax)) {
      if (letters >= enqueueChunkLettersMax) break;
      const { commandType, data } = command;
      if (schemas.has(this.domain, commandType)) await schemas.check(this.domain, commandType, data);
      const serialized = serializeCommand(this.domain, command, this.#rules);
      if (this.#seen.has(serialized.commandId)) {
        throw new DuplicateCommandError(this.domain, serialized.commandId);
      }
      this.#seen.add(serialized.commandId);
      chunk.push(serialized);
      letters += serialized.data.length;
    }
    return chunk;
  }
}
