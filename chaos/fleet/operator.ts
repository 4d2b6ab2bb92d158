import { type CommandBus, isTallymanError } from "../../src/index.ts";
import { openLog, settings } from "./child-kit.ts";
import { names } from "./plan.ts";

const commandsMax = 10;
/** In turn: a run in which an operator acts only a few times has them all. */
const actions = ["retry", "complete", "cancel"] as const;

/** Acts on the troubleshooting queue, each time under another name, so that the audit shows each action. */
export class Operator {
  readonly #bus: CommandBus;
  readonly #log = openLog();
  #actions = 0;

  constructor(bus: CommandBus) {
    this.#bus = bus;
  }

  /** One action on a few commands; what can't be told is left alone. */
  async act(): Promise<void> {
    const troubled = await this.#bus.tsq
      .list({ domain: names.workDomain, limit: commandsMax })
      .catch(() => []);
    if (troubled.length === 0) return;
    const action = actions[this.#actions % actions.length] ?? "retry";
    const operator = `operator ${settings.slot}.${settings.life}.${++this.#actions}`;
    const commandIds = troubled.map(({ commandId }) => commandId);
    this.#log.write({ operator, action, commands: commandIds });
    const outcome = await this.#bus.tsq[action]({ domain: names.workDomain, commandIds }, { operator }).then(
      () => "done",
      (error: unknown) => (isTallymanError(error, "INVALID_OPERATION") ? "refused" : "unknown"),
    );
    this.#log.write({ operator, outcome });
  }
}
