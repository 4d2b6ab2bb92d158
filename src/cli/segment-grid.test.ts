import { expect, it } from "vitest";
import type { SegmentInfo } from "../scheduler/index.ts";
import { segmentGrid } from "./segment-grid.ts";

function segments(owners: readonly (string | null)[]): SegmentInfo[] {
  return owners.map((workerId, segmentId) => ({
    segmentId,
    workerId,
    status: workerId === null ? "AVAILABLE" : "ASSIGNED",
    epoch: 1,
    assignedAt: null,
    revokeDeadline: null,
  }));
}

it("draws 100 segments as 10 by 10, with a letter per worker", () => {
  const owners = Array.from({ length: 100 }, (_, i) => (i < 10 ? "alpha" : i < 15 ? "beta" : null));
  const map = segments(owners).map((s) => (s.segmentId === 14 ? { ...s, status: "REVOKING" as const } : s));
  const lines = segmentGrid(map).split("\n");
  expect(lines[0]).toBe("   0  A A A A A A A A A A");
  expect(lines[1]).toBe("  10  B B B B b . . . . .");
  expect(lines[9]).toBe("  90  . . . . . . . . . .");
  expect(lines.slice(11)).toEqual([
    "A  alpha      10",
    "B  beta       5",
    ".  available  85",
    "1 in small letters are being given back.",
  ]);
});

it("draws other counts 10 or 32 wide, and many workers with one sign for the rest", () => {
  expect(segmentGrid(segments(Array(7).fill("a"))).split("\n")[0]).toBe("   0  A A A A A A A");
  const many = segmentGrid(
    segments(Array.from({ length: 1024 }, (_, i) => `w${String(i % 50).padStart(2, "0")}`)),
  );
  expect(many.split("\n").filter((line) => /^ *\d+ {2}(\S ){31}\S$/.test(line))).toHaveLength(32);
  expect(many).toContain("#");
});
