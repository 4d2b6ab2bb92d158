import type { Spread } from "./statistics.ts";

/** A bar of a plot: a contender with the middle and the ends of its samples, or why it has none. */
export interface Bar {
  readonly label: string;
  readonly kind: "ours" | "peer" | "limit";
  readonly value: Spread | { readonly missing: string };
}

const width = 720;
const labelWidth = 220;
const valueWidth = 130;
const rowHeight = 30;
const headHeight = 44;
const barHeight = 18;

const style = `text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600 } .quiet { fill: #6e7781 }
.ours { fill: #1f6feb } .peer { fill: #8c959f } .limit { fill: #bf8700 } .spread { stroke: #24292f; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .quiet { fill: #8d96a0 } .spread { stroke: #e6edf3 } }`;

/** Bars from zero, medians as their length, a line from the lowest to the highest sample. */
export function barPlot(title: string, unit: string, bars: readonly Bar[]): string {
  const height = headHeight + bars.length * rowHeight + 8;
  const longest = Math.max(
    ...bars.map(({ value }) => ("missing" in value ? 0 : value.highest)),
    Number.MIN_VALUE,
  );
  const scale = (value: number) => (value / longest) * (width - labelWidth - valueWidth);
  const rows = bars.map((bar, index) => row(bar, headHeight + index * rowHeight, scale));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<style>${style}</style>
<text class="title" x="8" y="20">${escaped(title)}</text>
<text class="quiet" x="${labelWidth}" y="36">${escaped(unit)}</text>
${rows.join("\n")}
</svg>
`;
}

function row({ label, kind, value }: Bar, top: number, scale: (value: number) => number): string {
  const [middle, text] = [top + rowHeight / 2, top + rowHeight / 2 + 5];
  const name = `<text x="${labelWidth - 8}" y="${text}" text-anchor="end">${escaped(label)}</text>`;
  if ("missing" in value) return `${name}<text class="quiet" x="${labelWidth}" y="${text}">missing</text>`;
  const [low, long, high] = [value.lowest, value.median, value.highest].map((each) =>
    Math.round(scale(each)),
  );
  const bar = `<rect class="${kind}" x="${labelWidth}" y="${middle - barHeight / 2}" width="${long}" height="${barHeight}"/>`;
  const line = `<path class="spread" d="M${labelWidth + (low ?? 0)} ${middle}H${labelWidth + (high ?? 0)}"/>`;
  const figure = `<text x="${labelWidth + (high ?? 0) + 8}" y="${text}">${shown(value.median)}</text>`;
  return `${name}${bar}${line}${figure}`;
}

/** Whole numbers when they are large, three digits when they are not. */
export function shown(value: number): string {
  const rounded = Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
  return rounded.toLocaleString("en-US", { maximumFractionDigits: 6 });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
