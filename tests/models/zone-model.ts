/** A time zone computed without any library but Intl: its offsets, and the instants of a local time. */
export class ZoneModel {
  /** Spans of one offset, in order: from `fromMs` on, local time = UTC + `offsetMs`. */
  readonly spans: readonly { readonly fromMs: number; readonly offsetMs: number }[];

  constructor(timeZone: string, fromMs: number, toMs: number) {
    const offsetAt = offsetReader(timeZone);
    const spans = [{ fromMs: Number.NEGATIVE_INFINITY, offsetMs: offsetAt(fromMs) }];
    for (let ms = fromMs; ms < toMs; ms += stepMs) {
      const last = spans.at(-1);
      if (last && offsetAt(ms + stepMs) !== last.offsetMs) {
        spans.push({
          fromMs: firstWith(ms, ms + stepMs, (at) => offsetAt(at) !== last.offsetMs),
          offsetMs: offsetAt(ms + stepMs),
        });
      }
    }
    this.spans = spans;
  }

  /** The instants at which clocks show this local time (given as if it were UTC): none in a gap, two in an overlap. */
  instantsOf(localMs: number): number[] {
    return this.spans
      .map(({ offsetMs }) => localMs - offsetMs)
      .filter((ms, i) => ms >= (this.spans[i]?.fromMs ?? 0) && ms < (this.spans[i + 1]?.fromMs ?? Infinity));
  }

  /** The first instant after the gap that this local time falls into. */
  afterGap(localMs: number): number {
    const i = this.spans.findIndex(
      ({ fromMs, offsetMs }, n) =>
        n > 0 && fromMs + offsetMs > localMs && fromMs + (this.spans[n - 1]?.offsetMs ?? 0) <= localMs,
    );
    return this.spans[i]?.fromMs ?? Number.NaN;
  }
}

const minuteMs = 60_000;
/** No zone changes its offset twice within this. */
const stepMs = 6 * 60 * minuteMs;

function offsetReader(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (ms) => {
    const parts = Object.fromEntries(
      format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - ms;
  };
}

/** The first minute after `lowMs`, up to `highMs`, for which `holds`. */
function firstWith(lowMs: number, highMs: number, holds: (ms: number) => boolean): number {
  let [low, high] = [lowMs, highMs];
  while (high - low > minuteMs) {
    const middle = low + Math.floor((high - low) / 2 / minuteMs) * minuteMs;
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}
