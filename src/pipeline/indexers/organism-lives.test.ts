import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { OrganismSchema, TickDataSchema } from "../../contracts/index.ts";
import { organismLives } from "./organism-lives.ts";

const tick = (...organisms: MessageInitShape<typeof OrganismSchema>[]) =>
  create(TickDataSchema, { organisms: organisms.map((organism) => create(OrganismSchema, organism)) });

describe("organismLives", () => {
  const alive = tick({ organismId: 1n, birthTick: 2n });
  const dead = tick({ organismId: 1n, birthTick: 2n, deathTick: 9n });
  const life = { organismId: 1n, birthTick: 2n, parentId: undefined, deathTick: 9n };

  it.each([
    ["alive, then dead", [alive, dead]],
    ["dead, then alive", [dead, alive]],
    ["alive, dead, alive", [alive, dead, alive, alive]],
  ])("joins what ticks say, in any order: %s", (_, ticks) => {
    expect(organismLives(ticks)).toEqual([life]);
  });

  it("takes the earliest birth and death and the greatest parent where ticks disagree", () => {
    const one = tick({ organismId: 1n, birthTick: 5n, deathTick: 20n, parentId: 3n });
    const other = tick({ organismId: 1n, birthTick: 4n, deathTick: 21n, parentId: 8n });
    const joined = [{ organismId: 1n, birthTick: 4n, deathTick: 20n, parentId: 8n }];
    expect(organismLives([one, other])).toEqual(joined);
    expect(organismLives([other, one])).toEqual(joined);
  });

  it("tells organisms apart whose ids differ in one half only", () => {
    const ids = [1n, -1n, 2n ** 32n + 1n, 2n ** 53n, 2n ** 53n + 1n];
    const lives = organismLives([tick(...ids.map((organismId) => ({ organismId })))]);
    expect(lives.map((each) => each.organismId)).toEqual(ids);
  });
});
