/**
 * What recording one value costs: nanoseconds and bytes allocated, for each tracker, beside what the
 * trackers are measured against.
 *
 * Run with `node --expose-gc --import tsx bench/monitoring.ts`.
 */
import { createHistogram } from "node:perf_hooks";
import {
  Counter,
  ErrorLog,
  PercentileTracker,
  SlidingWindowCounter,
  SlidingWindowPercentiles,
} from "../src/monitoring/index.ts";

const callsPerRun = 2_000_000;
const runs = 7;

/** Few enough that no collection happens in between and hides what was allocated. */
const callsPerAllocationRun = 20_000;

/** Latencies from 10 µs to 2 s, evenly over the magnitudes, always the same ones. */
const durationsMs = Float64Array.from(
  { length: 1024 },
  (_, n) => 0.01 * 200_000 ** (((n * 389) % 1024) / 1024),
);

type Call = (durationMs: number) => unknown;

/** A loop of its own for each case: a shared one would be compiled for all of them and inline none. */
function loopOver(call: Call): (calls: number) => void {
  const loop = new Function(
    "call",
    "durationsMs",
    "calls",
    "for (let n = 0; n < calls; n++) call(durationsMs[n & 1023]);",
  );
  return (calls) => loop(call, durationsMs, calls);
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function nanosPerCall(loop: (calls: number) => void): number {
  const once = () => {
    const startMs = performance.now();
    loop(callsPerRun);
    return ((performance.now() - startMs) * 1e6) / callsPerRun;
  };
  return median(Array.from({ length: runs }, once));
}

function bytesPerCall(loop: (calls: number) => void): number {
  const once = () => {
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    loop(callsPerAllocationRun);
    return (process.memoryUsage().heapUsed - before) / callsPerAllocationRun;
  };
  return median(Array.from({ length: runs }, once));
}

/** A minute, so that the window still holds its records when reading is measured. */
const windowSeconds = 60;
const nowMs = performance.now();
const kept = new Float64Array(1);
const counter = new Counter();
const tracker = new PercentileTracker();
const windowCounter = new SlidingWindowCounter(windowSeconds);
const windowPercentiles = new SlidingWindowPercentiles(windowSeconds);
const nodeHistogram = createHistogram({ lowest: 1, highest: 3_600_000_000, figures: 2 });
const errors = new ErrorLog();
const failure = { code: "CLAIM_FAILED", message: "Failed to claim batch", details: "Batch: a" };

const cases: Record<string, Call> = {
  "Counter.increment": () => counter.increment(),
  "PercentileTracker.record": (durationMs) => tracker.record(durationMs),
  "SlidingWindowCounter.recordCount, time given": () => windowCounter.recordCount(1, nowMs),
  "SlidingWindowCounter.recordCount": () => windowCounter.recordCount(),
  "SlidingWindowCounter.getRate": () => windowCounter.getRate(),
  "SlidingWindowPercentiles.record, time given": (durationMs) => windowPercentiles.record(durationMs, nowMs),
  "SlidingWindowPercentiles.record": (durationMs) => windowPercentiles.record(durationMs),
  "SlidingWindowPercentiles.getPercentile": () => windowPercentiles.getPercentile(95),
  "PercentileTracker.getPercentile": () => tracker.getPercentile(95),
  "ErrorLog.add (on failure only)": () => errors.add(failure),
  "for comparison: performance.now": () => {
    kept[0] = performance.now();
  },
  "for comparison: perf_hooks histogram.record": (durationMs) =>
    nodeHistogram.record(Math.ceil(durationMs * 1e3)),
  "for comparison: perf_hooks histogram.percentile": () => nodeHistogram.percentile(95),
};

if (!globalThis.gc) throw new Error("Run with node --expose-gc: the bytes can't be measured without it.");

// The first measurement allocates the result objects of its own tools.
bytesPerCall(() => {});

console.log(`Node ${process.version}, median of ${runs} runs of ${callsPerRun.toLocaleString("en")} calls`);
for (const [name, call] of Object.entries(cases)) {
  const loop = loopOver(call);
  loop(callsPerRun);
  const nanos = nanosPerCall(loop).toFixed(1).padStart(8);
  const bytes = bytesPerCall(loop).toFixed(2).padStart(8);
  console.log(`${name.padEnd(50)}${nanos} ns${bytes} B`);
}
