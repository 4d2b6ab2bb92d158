import { expect, it } from "vitest";
import type { GapInfo } from "../../coordination/index.ts";
import { GapRound } from "./gap-round.ts";

it("comes to every gap in turn, and begins again", async () => {
  const all = [10, 20, 30, 40, 50];
  const listGaps = async (limit = 0, _status?: GapInfo["status"], after = -1) =>
    all
      .filter((start) => start > after)
      .slice(0, limit)
      .map((start) => ({ gapStartTick: start }) as GapInfo);
  const round = new GapRound({ listGaps }, "pending", 2);
  const turn = async () => (await round.next()).map(({ gapStartTick }) => gapStartTick);
  expect([await turn(), await turn(), await turn(), await turn()]).toEqual([
    [10, 20],
    [30, 40],
    [50],
    [10, 20],
  ]);
  all.pop();
  expect([await turn(), await turn(), await turn()]).toEqual([[30, 40], [], [10, 20]]);
});
