import { Cron } from "croner";
import { TallymanError } from "../errors/index.ts";

/** Patterns kept with their parsed form; parsing costs as much as a few next times. */
const cronsMax = 1_000;
const crons = new Map<string, CronTimes>();

/**
 * The times of a cron pattern in a zone, parsed once for all jobs that share it.
 *
 * @throws TallymanError JOB_INVALID
 */
export function cronOf(pattern: string, timeZone: string): CronTimes {
  const name = `${timeZone} ${pattern}`;
  const known = crons.get(name);
  if (known) return known;
  const times = new CronTimes(pattern, timeZone);
  if (crons.size >= cronsMax) crons.delete(crons.keys().next().value ?? "");
  crons.set(name, times);
  return times;
}

/**
 * Walks through the times of one pattern. A zoned next time costs some 50 µs, so the last answer is kept as
 * the span that it holds for: jobs that share a pattern and are due together pay once.
 */
export class CronTimes {
  readonly #cron: Cron;
  readonly #explained: <T>(read: () => T) => T;
  /** No time lies between these two. */
  #span: { readonly fromMs: number; readonly nextMs: number } | undefined;

  constructor(pattern: string, timeZone: string) {
    refuseMovingPattern(pattern);
    this.#explained = (read) => explained(pattern, timeZone, read);
    this.#cron = this.#explained(() => new Cron(pattern, { timezone: timeZone, paused: true }));
  }

  /**
   * Refuses a zone that does not exist, which parsing alone does not notice.
   *
   * @throws TallymanError JOB_INVALID
   */
  static check(pattern: string, timeZone: string): void {
    cronOf(pattern, timeZone).nextAfter(Date.now());
  }

  /** The first time after `afterMs`. */
  nextAfter(afterMs: number): number | null {
    const span = this.#span;
    if (span && afterMs >= span.fromMs && afterMs < span.nextMs) return span.nextMs;
    const next = this.#explained(() => this.#cron.nextRun(new Date(afterMs)));
    if (next === null) return null;
    this.#span = { fromMs: afterMs, nextMs: next.getTime() };
    return next.getTime();
  }

  /** The last time that is not after `untilMs`. */
  lastUntil(untilMs: number): number | null {
    // The library looks at whole seconds, strictly before.
    const [last] = this.#cron.previousRuns(1, new Date((Math.floor(untilMs / 1000) + 1) * 1000));
    return last?.getTime() ?? null;
  }
}

function explained<T>(pattern: string, timeZone: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new TallymanError(
      "JOB_INVALID",
      `Cron pattern '${pattern}' in zone '${timeZone}' can't be read: ${(cause as Error).message}`,
      { cause, details: { cron: pattern, timeZone } },
    );
  }
}

/** What would mean another time in each process: `?` is the moment of parsing, a date is no pattern. */
function refuseMovingPattern(pattern: string): void {
  const isDate = /^\s*\d{4}-\d\d/.test(pattern);
  if (!isDate && !pattern.includes("?")) return;
  const reason = isDate ? "a single time is given as `at`" : "'?' is not supported, use '*'";
  throw new TallymanError("JOB_INVALID", `Cron pattern '${pattern}' can't be used: ${reason}.`, {
    details: { cron: pattern },
  });
}
