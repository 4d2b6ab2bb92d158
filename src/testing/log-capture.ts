import { AssertionError } from "node:assert";
import { TallymanError } from "../errors/index.ts";
import { configureLogging, currentLogging, type LogLevel, type LogRecord } from "../runtime/index.ts";

/** A log record that a test declares. */
export interface ExpectedLog {
  /** The logger's whole name. */
  readonly logger: string;
  readonly level: LogLevel;
  /** The whole message, with `*` for the parts that vary; there must be text beside the wildcards. */
  readonly message: string;
}

/**
 * Takes the process-wide log of a test. An unexpected WARN or ERROR, or an expected record that did not come,
 * fails {@link verify}; DEBUG and INFO are always allowed. One at a time per process: captures nest, but the
 * outer one sees nothing meanwhile.
 *
 * @example
 * ```ts
 * using logs = new LogCapture();
 * logs.expectLog({ logger: "database.listener", level: "warn", message: "Connection lost after * ms." });
 * await breakConnection();
 * logs.verify();
 * ```
 */
export class LogCapture implements Disposable {
  readonly #records: LogRecord[] = [];
  readonly #expected: ExpectedLog[] = [];
  readonly #previous = currentLogging();
  #isActive = true;
  readonly #sink = (record: LogRecord) => void this.#records.push(record);

  constructor() {
    configureLogging({ level: "debug", sink: this.#sink });
  }

  /** Everything logged so far, oldest first. */
  get records(): readonly LogRecord[] {
    return this.#records;
  }

  /**
   * Declares a record that must come once or more; before or after it comes, but before verify().
   *
   * @throws TallymanError INVALID_OPTION for a message of wildcards alone, or a wildcard in the logger's name
   */
  expectLog(expected: ExpectedLog): void {
    const bareMessage = !/[^*\s]/.test(expected.message);
    if (bareMessage || expected.logger.includes("*")) {
      throw new TallymanError(
        "INVALID_OPTION",
        "An expected log names its logger and its message; '*' stands only for the parts that vary.",
        { details: { ...expected } },
      );
    }
    this.#expected.push(expected);
  }

  /** Throws an AssertionError that lists what came unexpected and what did not come. */
  verify(): void {
    const faults = [...this.#unexpected(), ...this.#missing(), ...this.#blindness()];
    if (faults.length > 0)
      throw new AssertionError({ message: faults.join("\n"), stackStartFn: this.verify });
  }

  /** Restores the sink and level that were there before. */
  [Symbol.dispose](): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    configureLogging(this.#previous);
  }

  #unexpected(): string[] {
    return this.#records
      .filter(({ level }) => level === "warn" || level === "error")
      .filter((record) => !this.#expected.some((expected) => matches(expected, record)))
      .map((record) => `Unexpected log: ${described(record)} ${JSON.stringify(record.fields)}`);
  }

  /** A test whose log went elsewhere would be green for having seen nothing. */
  #blindness(): string[] {
    const isBlind = this.#isActive && currentLogging().sink !== this.#sink;
    return isBlind ? ["The log sink was replaced during the capture; what came after was not seen."] : [];
  }

  #missing(): string[] {
    return this.#expected
      .filter((expected) => !this.#records.some((record) => matches(expected, record)))
      .map((expected) => `Expected log did not come: ${described(expected)}`);
  }
}

function matches(expected: ExpectedLog, record: LogRecord): boolean {
  const literals = expected.message.split("*").map(escapeRegExp);
  const message = new RegExp(`^${literals.join(".*")}$`, "s");
  return expected.logger === record.logger && expected.level === record.level && message.test(record.message);
}

function described({ level, logger, message }: ExpectedLog): string {
  return `${level.toUpperCase()} ${logger}: ${message}`;
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
