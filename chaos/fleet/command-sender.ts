import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type BatchCommand,
  type CommandBus,
  DuplicateCommandError,
  isTallymanError,
} from "../../src/index.ts";
import { pick } from "../random.ts";
import { openLog, random } from "./child-kit.ts";
import { names } from "./plan.ts";

const mixture = ["Effect", "Effect", "Effect", "Effect", "Plain", "Plain", "Flaky", "Rule", "Poison"];
const batchSize = 20;
const againMs = 200;
const hugeBytes = 900_000;
const tooLargeBytes = 1_200_000;

type Command = BatchCommand & { readonly commandId: string };

/**
 * Sends commands under ids of its own. A send whose outcome is unknown is sent again under the same ids: a
 * duplicate then means that the first one counts. Its log has an intent before each send, and what became of it.
 */
export class CommandSender {
  readonly #bus: CommandBus;
  readonly #log = openLog();
  #intents = 0;

  constructor(bus: CommandBus) {
    this.#bus = bus;
  }

  /** A batch of mixed commands, half of them with a completion command. */
  async createBatch(): Promise<void> {
    const commands = this.#commands(batchSize, () => pick(mixture, random()));
    const completion = random() < 0.5 ? { commandType: "Effect", commandId: randomUUID() } : undefined;
    const details = { batch: true, completion: completion?.commandId };
    await this.#send(commands, details, () =>
      this.#bus.createBatch(names.workDomain, commands, {
        ...(completion && { completion }),
        onComplete: ({ batchId, status }) => this.#log.write({ callback: batchId, status }),
      }),
    );
  }

  /** Single commands of all kinds. */
  sendMixed(count: number): Promise<void> {
    return this.#sendSingles(this.#commands(count, () => pick(mixture, random())));
  }

  /** Single commands of one kind. */
  sendMany(count: number, commandType: string): Promise<void> {
    return this.#sendSingles(this.#commands(count, () => commandType));
  }

  /** One that is as large as the bus takes, and one that is larger. */
  async sendHuge(): Promise<void> {
    for (const bytes of [hugeBytes, tooLargeBytes])
      await this.#sendSingles(
        this.#commands(1, () => "Effect").map((command) => ({ ...command, data: "x".repeat(bytes) })),
      );
  }

  #commands(count: number, typeOf: () => string): Command[] {
    return Array.from({ length: count }, (_, n) => ({
      commandId: randomUUID(),
      commandType: typeOf(),
      data: { n },
      ...(random() < 0.3 && { replyTo: names.replyQueue }),
      ...(random() < 0.1 && { runAt: new Date(Date.now() + 500) }),
    }));
  }

  #sendSingles(commands: readonly Command[]): Promise<void> {
    return this.#send(commands, {}, () => this.#bus.sendMany(names.workDomain, commands));
  }

  async #send(
    commands: readonly Command[],
    details: Readonly<Record<string, unknown>>,
    send: () => Promise<unknown>,
  ): Promise<void> {
    const intent = ++this.#intents;
    const sent = commands.map(({ commandId, commandType, replyTo }) => [
      commandId,
      commandType,
      replyTo !== undefined,
    ]);
    this.#log.write({ intent, domain: names.workDomain, commands: sent, ...details });
    for (;;) {
      const outcome = await send().then(() => "accepted", outcomeOf);
      if (outcome === "accepted") return this.#log.write({ accepted: intent });
      if (outcome !== "unknown") return this.#log.write({ refused: intent, code: outcome });
      await sleep(againMs);
    }
  }
}

/** Whether an error means that it was accepted before, that it never will be, or nothing. */
function outcomeOf(error: unknown): string {
  if (error instanceof DuplicateCommandError) return "accepted";
  if (isTallymanError(error, "COMMAND_TOO_LARGE")) return error.code;
  return "unknown";
}
