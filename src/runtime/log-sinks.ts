import { type DestinationStream, destination, type Logger as PinoLogger, pino } from "pino";
import type { LogRecord, LogSink } from "./logger.ts";
import { singleLine } from "./single-line.ts";

const stderrDescriptor = 2;

/**
 * A sink that writes to stderr, one line per record. Synchronous, so that nothing is lost when the process
 * ends; the descriptor is opened by the first record, so that importing Tallyman opens nothing.
 */
export function stderrSink(format: "json" | "pretty"): LogSink {
  let write: LogSink | undefined;
  return (record) => {
    write ??= textSink(format, destination({ dest: stderrDescriptor, sync: true }));
    write(record);
  };
}

/** A sink that writes each record as one line of text to a stream. */
export function textSink(format: "json" | "pretty", stream: DestinationStream): LogSink {
  return format === "json" ? jsonSink(stream) : (record) => stream.write(prettyLine(record));
}

/** A JSON line is a LogRecord: what a caller put in `fields` can't pose as the level or the time. */
function jsonSink(stream: DestinationStream): LogSink {
  const lines: PinoLogger = pino(
    {
      level: "debug",
      base: null,
      timestamp: false,
      messageKey: "message",
      formatters: { level: (level) => ({ level }) },
    },
    stream,
  );
  return ({ level, logger, message, fields, time }) =>
    lines[level]({ time: new Date(time).toISOString(), logger, fields }, message);
}

function prettyLine({ level, logger, message, fields, time }: LogRecord): string {
  const time24h = new Date(time).toISOString().slice(11, 23);
  const pairs = Object.entries(fields).map(([key, value]) => ` ${key}=${prettyValue(value)}`);
  return `${time24h} ${level.toUpperCase().padEnd(5)} ${singleLine(`${logger}: ${message}${pairs.join("")}`)}\n`;
}

function prettyValue(value: unknown): string {
  if (typeof value === "string" && /^[^\s"=]+$/.test(value)) return value;
  return JSON.stringify(value) ?? String(value);
}
