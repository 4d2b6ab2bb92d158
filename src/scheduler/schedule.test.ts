import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ZoneModel } from "../../tests/models/zone-model.ts";
import { CronTimes, cronOf } from "./cron-times.ts";
import {
  jitterOf,
  lastUntil,
  nextAfter,
  nextTimes,
  type Plannable,
  planFire,
  type Times,
} from "./schedule.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const fromMs = Date.UTC(2021, 0, 1);
const toMs = Date.UTC(2031, 0, 1);

const none = { anchorMs: null, everyMs: null, cron: null, timeZone: null, startMs: null, endMs: null };

function cron(pattern: string, timeZone = "UTC"): Times {
  return { ...none, kind: "CRON", cron: pattern, timeZone };
}

function every(everyMs: number, anchorMs = 0): Times {
  return { ...none, kind: "INTERVAL", everyMs, anchorMs };
}

/** One hour shift north and south of the equator, half an hour, at midnight, 45 minutes off, Ramadan, and none. */
const zones = [
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Africa/Cairo",
  "Pacific/Chatham",
  "Africa/Casablanca",
  "America/Santiago",
  "Asia/Kolkata",
];

/** What a daily time gives by the rules of decision 009, from offsets alone. */
function expectedDaily(zone: ZoneModel, hour: number, minute: number): number[] {
  const times: number[] = [];
  for (let day = fromMs - 2 * dayMs; day < toMs + 2 * dayMs; day += dayMs) {
    const localMs = day + hour * hourMs + minute * 60_000;
    const [first = zone.afterGap(localMs)] = zone.instantsOf(localMs);
    times.push(first);
  }
  return times.filter((ms) => ms > fromMs && ms < toMs).sort((a, b) => a - b);
}

/** What a pattern with several times a day gives: every instant whose local time fits, both of a repeated hour. */
function expectedEach(zone: ZoneModel, hours: readonly number[], minutes: readonly number[]): number[] {
  const times = new Set<number>();
  for (let day = fromMs - 2 * dayMs; day < toMs + 2 * dayMs; day += dayMs) {
    for (const hour of hours) {
      for (const minute of minutes) {
        for (const ms of zone.instantsOf(day + hour * hourMs + minute * 60_000)) times.add(ms);
      }
    }
  }
  return [...times].filter((ms) => ms > fromMs && ms < toMs).sort((a, b) => a - b);
}

function timesBetween(times: Times): number[] {
  const list: number[] = [];
  for (let at = nextAfter(times, fromMs); at !== null && at < toMs; at = nextAfter(times, at)) list.push(at);
  return list;
}

describe.each(zones)("ten years of %s", (timeZone) => {
  const zone = new ZoneModel(timeZone, fromMs - 3 * dayMs, toMs + 3 * dayMs);

  it.each([
    [0, 0],
    [2, 15],
    [2, 45],
  ])(
    "daily at %i:%i fires once a day: after a gap at its end, in an overlap at the first pass",
    (hour, minute) => {
      expect(timesBetween(cron(`${minute} ${hour} * * *`, timeZone))).toEqual(
        expectedDaily(zone, hour, minute),
      );
    },
    60_000,
  );

  it("several times a day skip a gap and fire in both passes of an overlap", () => {
    const expected = expectedEach(zone, [0, 1, 2, 3], [30]);
    expect(timesBetween(cron("30 0-3 * * *", timeZone))).toEqual(expected);
  }, 120_000);
});

describe("gaps and overlaps by hand", () => {
  const iso = (times: Times, after: string, count: number) =>
    nextTimes(times, Date.parse(after), count).map((ms) => new Date(ms).toISOString().slice(0, 16));

  it("Berlin springs forward on 2026-03-29 from 2:00 to 3:00", () => {
    expect(iso(cron("30 2 * * *", "Europe/Berlin"), "2026-03-28T00:00Z", 3)).toEqual([
      "2026-03-28T01:30",
      "2026-03-29T01:00",
      "2026-03-30T00:30",
    ]);
  });

  it("Berlin falls back on 2026-10-25 from 3:00 to 2:00", () => {
    expect(iso(cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T12:00Z", 2)).toEqual([
      "2026-10-25T00:30",
      "2026-10-26T01:30",
    ]);
    expect(iso(cron("30 * * * *", "Europe/Berlin"), "2026-10-25T00:00Z", 3)).toEqual([
      "2026-10-25T00:30",
      "2026-10-25T01:30",
      "2026-10-25T02:30",
    ]);
  });
});

const patterns = [
  "*/5 * * * *",
  "30 2 * * *",
  "0 0 1 * *",
  "15 10 * * MON-FRI",
  "*/20 * * * * *",
  "0 0 L * *",
];
const anyTimes: fc.Arbitrary<Times> = fc
  .tuple(
    fc.oneof(
      fc
        .record({
          everyMs: fc.integer({ min: 100, max: 40 * dayMs }),
          anchorMs: fc.integer({ min: fromMs, max: toMs }),
        })
        .map(({ everyMs, anchorMs }) => every(everyMs, anchorMs)),
      fc
        .tuple(fc.constantFrom(...patterns), fc.constantFrom(...zones))
        .map(([pattern, zone]) => cron(pattern, zone)),
      fc.integer({ min: fromMs, max: toMs }).map((anchorMs): Times => ({ ...none, kind: "ONCE", anchorMs })),
    ),
    fc.option(fc.integer({ min: fromMs, max: toMs })),
    fc.option(fc.integer({ min: fromMs, max: toMs })),
  )
  .map(([times, startMs, endMs]) => ({ ...times, startMs, endMs }));
const moment = fc.integer({ min: fromMs, max: toMs });

describe("properties", () => {
  it("the next time is later, inside the bounds, and nothing lies between", () => {
    fc.assert(
      fc.property(anyTimes, moment, (times, afterMs) => {
        const next = nextAfter(times, afterMs);
        const last = lastUntil(times, afterMs);
        if (last !== null) {
          expect(last).toBeLessThanOrEqual(afterMs);
          expect(nextAfter(times, last)).toEqual(next);
        }
        if (next === null) return;
        expect(next).toBeGreaterThan(afterMs);
        expect(next).toBeGreaterThanOrEqual(times.startMs ?? next);
        expect(next).toBeLessThan(times.endMs ?? next + 1);
        expect(lastUntil(times, next)).toBe(next);
        expect(lastUntil(times, next - 1)).toEqual(last);
      }),
      { numRuns: 2_000, seed: 7 },
    );
  }, 60_000);

  const job = fc.record({
    times: anyTimes,
    jitterMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 99 })),
    misfirePolicy: fc.constantFrom("SKIP" as const, "FIRE_ONCE" as const, "FIRE_ALL" as const),
    misfireGraceMs: fc.integer({ min: 1, max: hourMs }),
    catchUpWindowMs: fc.integer({ min: 1, max: 30 * dayMs }),
  });

  it("whatever the clock does, each time is fired once or in one missed range, and the next only grows", () => {
    const clock = fc.array(fc.integer({ min: -10 * dayMs, max: 20 * dayMs }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(job, moment, clock, ({ times, ...settings }, startMs, steps) => {
        let next = nextAfter(times, startMs);
        let nowMs = startMs;
        const first = next;
        for (const step of steps) {
          nowMs += step;
          for (let i = 0; i < 5 && next !== null; i++) {
            const plannable: Plannable = { ...times, ...settings, nextFireMs: next, jobKey: "k" };
            if (next + jitterOf(plannable, next) > nowMs) break;
            const plan = planFire(plannable, nowMs);
            const covered = checkCoverage(times, next, plan);
            expect(plan.nextMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(covered);
            expect(plan.fireMs ?? 0).toBeLessThanOrEqual(nowMs);
            next = plan.nextMs;
          }
        }
        expect(next ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(first ?? Number.NEGATIVE_INFINITY);
      }),
      { numRuns: 2_000, seed: 7 },
    );
  }, 60_000);

  /** The plan's fire and missed range, together, are the times from `next` on, without a hole; returns the last of them. */
  function checkCoverage(
    times: Times,
    next: number,
    { fireMs, missedUntilMs, nextMs }: ReturnType<typeof planFire>,
  ): number {
    if (fireMs === null) {
      expect(missedUntilMs).not.toBeNull();
      if (nextMs !== null) expect(missedUntilMs).toBe(nextMs);
      return (missedUntilMs ?? 0) - 1;
    }
    expect(missedUntilMs === null ? next : missedUntilMs).toBe(fireMs);
    expect(lastUntil(times, fireMs)).toBe(fireMs);
    expect(nextAfter(times, fireMs)).toEqual(nextMs);
    return fireMs;
  }
});

describe("misfire policies", () => {
  const base = { ...every(1_000), jitterMs: 0, jobKey: null, misfireGraceMs: 2_500, catchUpWindowMs: 60_000 };
  const plan = (misfirePolicy: Plannable["misfirePolicy"], nextFireMs: number, nowMs: number) =>
    planFire({ ...base, misfirePolicy, nextFireMs }, nowMs);

  it("fires on time, whatever the policy", () => {
    for (const policy of ["SKIP", "FIRE_ONCE", "FIRE_ALL"] as const) {
      expect(plan(policy, 5_000, 5_010)).toEqual({
        fireMs: 5_000,
        missedUntilMs: null,
        nextMs: 6_000,
        dueMs: 6_000,
      });
    }
  });

  it("SKIP leaves out what is later than the grace", () => {
    expect(plan("SKIP", 5_000, 30_200)).toMatchObject({
      fireMs: null,
      missedUntilMs: 28_000,
      nextMs: 28_000,
    });
  });

  it("FIRE_ONCE fires the latest and misses the others", () => {
    expect(plan("FIRE_ONCE", 5_000, 30_200)).toMatchObject({
      fireMs: 30_000,
      missedUntilMs: 30_000,
      nextMs: 31_000,
    });
  });

  it("FIRE_ONCE fires nothing that is older than the window", () => {
    const weekly = {
      ...base,
      ...every(7 * dayMs),
      misfirePolicy: "FIRE_ONCE" as const,
      nextFireMs: 7 * dayMs,
    };
    expect(planFire(weekly, 8 * dayMs)).toMatchObject({
      fireMs: null,
      missedUntilMs: 14 * dayMs,
      nextMs: 14 * dayMs,
    });
  });

  it("FIRE_ALL fires one after the other, from the window on", () => {
    expect(plan("FIRE_ALL", 5_000, 30_200)).toMatchObject({
      fireMs: 5_000,
      missedUntilMs: null,
      nextMs: 6_000,
    });
    expect(plan("FIRE_ALL", 5_000, 100_000)).toMatchObject({
      fireMs: null,
      missedUntilMs: 40_000,
      nextMs: 40_000,
    });
  });

  it("a schedule that has ended leaves a missed range and nothing to come", () => {
    const once = {
      ...base,
      kind: "ONCE" as const,
      anchorMs: 5_000,
      misfirePolicy: "SKIP" as const,
      nextFireMs: 5_000,
    };
    expect(planFire(once, 99_000)).toEqual({ fireMs: null, missedUntilMs: 5_001, nextMs: null, dueMs: null });
  });
});

describe("jitter", () => {
  it("is the same for one job and time, stays below its bound and differs between jobs", () => {
    const of = (jobKey: string, ms: number) => jitterOf({ jitterMs: 1_000, jobKey }, ms);
    expect(of("a", 60_000)).toBe(of("a", 60_000));
    const values = Array.from({ length: 1_000 }, (_, i) => of(`job-${i}`, 60_000));
    expect(Math.max(...values)).toBeLessThanOrEqual(1_000);
    expect(new Set(values).size).toBeGreaterThan(500);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(mean).toBeGreaterThan(400);
    expect(mean).toBeLessThan(600);
  });
});

describe("cron patterns", () => {
  it.each([
    ["99 * * * *", "UTC"],
    ["not a pattern", "UTC"],
    ["* * * * *", "Mars/Olympus"],
    ["? * * * *", "UTC"],
    ["2026-01-01T00:00:00", "UTC"],
    ["", "UTC"],
  ])("'%s' in %s is refused", (pattern, zone) => {
    expect(() => CronTimes.check(pattern, zone)).toThrow(expect.objectContaining({ code: "JOB_INVALID" }));
  });

  it("are parsed once for all jobs that share them", () => {
    expect(cronOf("1 2 3 4 *", "UTC")).toBe(cronOf("1 2 3 4 *", "UTC"));
  });
});
