import type { SegmentInfo } from "../scheduler/index.ts";
import { alignColumns } from "./output.ts";

const symbols = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"];
const symbolOfOthers = "#";
const smallCount = 100;
const [smallWidth, largeWidth] = [10, 32];

type Owned = Pick<SegmentInfo, "workerId" | "status">;

/** Who owns which segment, as a square of letters: 10 wide up to 100 segments, 32 wide beyond. */
export function segmentGrid(segments: readonly Owned[]): string {
  const owners = [...new Set(segments.flatMap(({ workerId }) => workerId ?? []))].sort();
  const symbolOf = new Map(owners.map((workerId, i) => [workerId, symbols[i] ?? symbolOfOthers]));
  const width = segments.length <= smallCount ? smallWidth : largeWidth;
  const lines: string[] = [];
  for (let first = 0; first < segments.length; first += width) {
    const cells = segments.slice(first, first + width).map((segment) => cellOf(segment, symbolOf));
    lines.push(`${String(first).padStart(4)}  ${cells.join(" ")}`);
  }
  return [...lines, "", legend(segments, symbolOf)].join("\n");
}

function cellOf({ workerId, status }: Owned, symbolOf: ReadonlyMap<string, string>): string {
  const symbol = symbolOf.get(workerId ?? "") ?? ".";
  return status === "REVOKING" ? symbol.toLowerCase() : symbol;
}

function legend(segments: readonly Owned[], symbolOf: ReadonlyMap<string, string>): string {
  const count = (workerId: string | null) => segments.filter((s) => s.workerId === workerId).length;
  const revoking = segments.filter(({ status }) => status === "REVOKING").length;
  const rows = [...symbolOf].map(([workerId, symbol]) => [symbol, workerId, `${count(workerId)}`]);
  if (count(null) > 0) rows.push([".", "available", `${count(null)}`]);
  const note = revoking > 0 ? [`${revoking} in small letters are being given back.`] : [];
  return [alignColumns(rows), ...note].join("\n");
}
