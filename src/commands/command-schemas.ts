import type { StandardSchemaV1 } from "@standard-schema/spec";
import { TallymanError } from "../errors/index.ts";

/**
 * A command type whose data has a schema: senders are checked, and handlers get typed data.
 * Made by `CommandBus.register`.
 */
export interface CommandType<Input = unknown, Output = Input> {
  readonly domain: string;
  readonly commandType: string;
  readonly schema: StandardSchemaV1<Input, Output>;
}

/** The schemas of a bus, by domain and type. Data without a schema passes as it is. */
export class CommandSchemas {
  readonly #types = new Map<string, CommandType>();

  /** @throws TallymanError INVALID_STATE when the type has another schema */
  register<Input, Output>(type: CommandType<Input, Output>): void {
    const key = keyOf(type.domain, type.commandType);
    const known = this.#types.get(key);
    if (known && known.schema !== (type as CommandType).schema) {
      throw new TallymanError(
        "INVALID_STATE",
        `${type.commandType} in '${type.domain}' has another schema already.`,
      );
    }
    this.#types.set(key, type as CommandType);
  }

  has(domain: string, commandType: string): boolean {
    return this.#types.has(keyOf(domain, commandType));
  }

  /**
   * The data as its schema sees it, with defaults and conversions.
   *
   * @throws TallymanError COMMAND_INVALID naming each fault
   */
  async check(domain: string, commandType: string, data: unknown): Promise<unknown> {
    const type = this.#types.get(keyOf(domain, commandType));
    if (!type) return data;
    const checked = await type.schema["~standard"].validate(data);
    if (!checked.issues) return checked.value;
    const faults = checked.issues.map(describeIssue);
    throw new TallymanError(
      "COMMAND_INVALID",
      `The data of ${commandType} does not fit its schema: ${faults.join("; ")}.`,
      { details: { domain, commandType, faults } },
    );
  }
}

function keyOf(domain: string, commandType: string): string {
  return `${domain}\n${commandType}`;
}

function describeIssue({ path = [], message }: StandardSchemaV1.Issue): string {
  const place = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return place === "" ? message : `${place}: ${message}`;
}
