import { stderrSink } from "./log-sinks.ts";
import { redactText, toLogFields } from "./redact.ts";
import { singleLine } from "./single-line.ts";

const severities = { debug: 0, info: 1, warn: 2, error: 3 } as const;

/** DEBUG for what happens in loops, INFO for lifecycle only, WARN and ERROR for a person to look at. */
export type LogLevel = keyof typeof severities;

/** One event, safe to print: secrets are masked, the message is one line, the fields are plain data. */
export interface LogRecord {
  readonly level: LogLevel;
  /** The name given to {@link logger}. */
  readonly logger: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Wall time in milliseconds since the epoch. */
  readonly time: number;
}

/** Where records go. One that throws loses its record and disturbs nobody. */
export type LogSink = (record: LogRecord) => void;

/** What the code logs with; get one from {@link logger}. Errors go in a field: `{ error }`. */
export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** The process-wide settings; those not given stay as they are. */
export interface LoggingOptions {
  /** Records below it are dropped. Default: "warn". */
  readonly level?: LogLevel;
  /** Takes the records in place of stderr. Default: JSON lines on stderr. */
  readonly sink?: LogSink;
  /** Sends the records to stderr in this form; has no effect beside a `sink`. */
  readonly format?: "json" | "pretty";
}

let current: { readonly level: LogLevel; readonly sink: LogSink } = {
  level: "warn",
  sink: stderrSink("json"),
};

/**
 * Sets level and destination of every logger of the process, at once, also of those already handed out.
 *
 * @example
 * ```ts
 * configureLogging({ level: "info", sink: (record) => appLogger[record.level](record.fields, record.message) });
 * ```
 */
export function configureLogging(options: LoggingOptions): void {
  const builtIn = options.format && stderrSink(options.format);
  current = { level: options.level ?? current.level, sink: options.sink ?? builtIn ?? current.sink };
}

/** The present settings; give them to {@link configureLogging} to restore them. */
export function currentLogging(): Readonly<Required<Pick<LoggingOptions, "level" | "sink">>> {
  return current;
}

/**
 * A named logger over the process-wide sink. Costs nothing to make; a dropped record costs one comparison.
 *
 * @example
 * ```ts
 * const log = logger("database.listener");
 * log.warn("Connection lost; polling until it is back.", { error });
 * ```
 */
export function logger(name: string): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      emit(level, name, message, fields);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function emit(level: LogLevel, name: string, message: string, fields: Record<string, unknown>): void {
  if (severities[level] < severities[current.level]) return;
  try {
    current.sink({
      level,
      logger: name,
      message: singleLine(redactText(message)),
      fields: toLogFields(fields),
      time: Date.now(),
    });
  } catch {
    // Logging happens in the very code that releases resources after a failure: it must not fail too.
  }
}
