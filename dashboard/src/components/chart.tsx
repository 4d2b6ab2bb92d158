import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { systemTheme } from "../system-theme.ts";

/** A line of a chart. */
export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
  /** Custom property of its colour. */
  readonly colour: string;
}

interface ChartProps {
  readonly label: string;
  readonly ticks: readonly number[];
  readonly lines: readonly Line[];
  /** A vertical line stands here. */
  readonly at?: number;
  /** Told of the tick that is clicked on. */
  readonly pick?: (tick: number) => void;
}

const height = 150;
const axisSize = 46;
const tickAxisSize = 28;

/** Lines over ticks. */
export function Chart(props: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const { label, ticks, lines, at } = props;
  const theme = systemTheme.value;
  useEffect(() => {
    if (!place.current) return;
    const resized = new ResizeObserver(([entry]) => {
      if (entry) plot.current?.setSize({ width: entry.contentRect.width, height });
    });
    resized.observe(place.current);
    let isOver = false;
    void makePlot(place.current, latest).then((made) => {
      if (isOver) made.destroy();
      else plot.current = made;
    });
    return () => {
      isOver = true;
      resized.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [theme, lines.length]);
  useEffect(() => plot.current?.setData(dataOf(latest.current)), [ticks, lines]);
  useEffect(() => plot.current?.redraw(false), [at]);
  return <div class="chart" ref={place} role="img" aria-label={label} />;
}

function dataOf({ ticks, lines }: ChartProps): uPlot.AlignedData {
  return [[...ticks], ...lines.map(({ values }) => [...values])];
}

/** The library of charts is loaded with the first one: most screens have none. */
async function makePlot(place: HTMLElement, latest: { readonly current: ChartProps }): Promise<uPlot> {
  provideLanguage();
  const { default: Plot } = await import("uplot");
  return new Plot(optionsOf(place, latest), dataOf(latest.current), place);
}

/** As it loads, the library formats by the browser's language, and fails on that of LANG=C: 'en-US@posix'. */
function provideLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en", configurable: true });
  }
}

function optionsOf(place: HTMLElement, latest: { readonly current: ChartProps }): uPlot.Options {
  const style = getComputedStyle(place);
  const colour = (property: string) => style.getPropertyValue(property);
  const axis = {
    stroke: colour("--text-faint"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: place.clientWidth,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false } },
    axes: [
      { ...axis, size: tickAxisSize },
      { ...axis, size: axisSize },
    ],
    series: [
      {},
      ...latest.current.lines.map((line) => ({ label: line.label, stroke: colour(line.colour), width: 1.5 })),
    ],
    hooks: {
      draw: [(plot) => drawMark(plot, latest.current.at, colour("--text"))],
      ready: [(plot) => plot.over.addEventListener("click", () => pickTick(plot, latest.current))],
    },
  };
}

function pickTick(plot: uPlot, { pick }: ChartProps): void {
  const { left } = plot.cursor;
  if (left !== undefined && left >= 0) pick?.(Math.round(plot.posToVal(left, "x")));
}

function drawMark({ ctx: context, bbox, valToPos }: uPlot, at: number | undefined, colour: string): void {
  if (at === undefined) return;
  const x = Math.round(valToPos(at, "x", true));
  context.save();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x, bbox.top);
  context.lineTo(x, bbox.top + bbox.height);
  context.stroke();
  context.restore();
}
