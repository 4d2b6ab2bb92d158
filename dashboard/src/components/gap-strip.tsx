import { useState } from "preact/hooks";
import { formatCount } from "../format.ts";

/** Classes of ticks, the most alarming last: it is drawn on top. */
const tickClasses = [
  ["indexed", "indexed"],
  ["in_flight", "in flight"],
  ["failed", "failed"],
  ["pending", "pending gap"],
  ["permanent", "permanent gap"],
  ["missing", "not accounted for"],
] as const;

type TickClass = (typeof tickClasses)[number][0];

/** A part of the tick range with its counts. */
export interface Bucket extends Readonly<Record<TickClass, number>> {
  readonly start: number;
  readonly end: number;
}

/** Ticks from one to another, both included. */
export interface TickRange {
  readonly from: number;
  readonly to: number;
}

interface GapStripProps {
  readonly label: string;
  readonly buckets: readonly Bucket[];
  zoom(range: TickRange): void;
}

const height = 28;
/** A single missing tick among thousands must be seen. */
const shareMin = 0.3;

/** The tick range as a strip of buckets; hover or arrow keys read one, dragging or Enter zooms in. */
export function GapStrip({ label, buckets, zoom }: GapStripProps) {
  const [at, setAt] = useState<number>();
  const [from, setFrom] = useState<number>();
  const indexOf = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    return bounded(Math.floor(((event.clientX - left) / width) * buckets.length), buckets);
  };
  const select = (first: number, last: number) => {
    const [low, high] = [buckets[Math.min(first, last)], buckets[Math.max(first, last)]];
    if (low && high) zoom({ from: low.start, to: high.end });
  };
  const release = (event: PointerEvent) => {
    if (from !== undefined) select(from, indexOf(event));
    setFrom(undefined);
  };
  const shown = at === undefined ? undefined : buckets[at];
  return (
    <div class="strip">
      <div
        class="strip-field"
        role="slider"
        tabIndex={0}
        aria-label={`Ticks of ${label}`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, buckets.length - 1)}
        aria-valuenow={at ?? 0}
        aria-valuetext={shown ? describe(shown) : "no bucket chosen"}
        onPointerDown={(event) => setFrom(indexOf(event))}
        onPointerMove={(event) => setAt(indexOf(event))}
        onPointerUp={release}
        onPointerLeave={() => setAt(undefined)}
        onKeyDown={(event) => moveByKey(event, { at: at ?? 0, buckets, setAt, select })}
      >
        <Bars buckets={buckets} />
        {from !== undefined && at !== undefined && <Mark first={from} last={at} count={buckets.length} />}
        {at !== undefined && <Mark first={at} last={at} count={buckets.length} />}
      </div>
      <p class="strip-hint" role="status">
        {shown ? describe(shown) : ""}
      </p>
    </div>
  );
}

interface KeyMove {
  readonly at: number;
  readonly buckets: readonly Bucket[];
  setAt(index: number): void;
  select(first: number, last: number): void;
}

/** Buckets to each side of the chosen one that Enter shows. */
const keyZoomReach = 10;

function moveByKey(event: KeyboardEvent, { at, buckets, setAt, select }: KeyMove): void {
  const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[event.key];
  if (step !== undefined) setAt(bounded(at + step, buckets));
  else if (event.key === "Enter")
    select(bounded(at - keyZoomReach, buckets), bounded(at + keyZoomReach, buckets));
  else return;
  event.preventDefault();
}

function bounded(index: number, buckets: readonly Bucket[]): number {
  return Math.max(0, Math.min(buckets.length - 1, index));
}

function describe(bucket: Bucket): string {
  const parts = tickClasses.filter(([name]) => bucket[name] > 0);
  const counts = parts.map(([name, text]) => `${formatCount(bucket[name])} ${text}`).join(", ");
  return `Ticks ${formatCount(bucket.start)}–${formatCount(bucket.end)}: ${counts || "none expected"}`;
}

function Mark({ first, last, count }: { first: number; last: number; count: number }) {
  const left = (Math.min(first, last) / count) * 100;
  const width = ((Math.abs(last - first) + 1) / count) * 100;
  return <span class="strip-mark" style={{ left: `${left}%`, width: `${width}%` }} />;
}

function Bars({ buckets }: { buckets: readonly Bucket[] }) {
  return (
    <svg
      viewBox={`0 0 ${Math.max(1, buckets.length)} ${height}`}
      preserveAspectRatio="none"
      shape-rendering="crispEdges"
      aria-hidden="true"
    >
      {buckets.flatMap((bucket, x) =>
        partsOf(bucket).map(({ name, top, share }) => (
          <rect
            key={`${x} ${name}`}
            class={`tick-${name}`}
            x={x}
            y={top * height}
            width={1.02}
            height={share * height}
          />
        )),
      )}
    </svg>
  );
}

/** The classes of a bucket from the bottom up, none thinner than can be seen. */
function partsOf(bucket: Bucket): { name: TickClass; top: number; share: number }[] {
  const present = tickClasses.map(([name]) => name).filter((name) => bucket[name] > 0);
  const total = present.reduce((sum, name) => sum + bucket[name], 0);
  const shares = present.map((name) => Math.max(bucket[name] / total, present.length > 1 ? shareMin : 0));
  const sum = shares.reduce((all, share) => all + share, 0);
  let bottom = 1;
  return present.map((name, index) => {
    const share = (shares[index] ?? 0) / sum;
    bottom -= share;
    return { name, top: Math.max(0, bottom), share };
  });
}

/** What the colours of a strip mean. */
export function StripLegend() {
  return (
    <span class="legend">
      {tickClasses.slice(0, -1).map(([name, text]) => (
        <span key={name}>
          <span class={`legend-mark mark-${name}`} />
          {text}
        </span>
      ))}
    </span>
  );
}
