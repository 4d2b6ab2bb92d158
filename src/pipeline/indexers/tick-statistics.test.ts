import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { OrganismSchema, TickDataSchema } from "../../contracts/index.ts";
import { tickStatistics } from "./tick-statistics.ts";

const birthsAt = (tickNumber: bigint, samplingInterval: number, ...births: bigint[]) => {
  const organisms = births.map((birthTick, id) =>
    create(OrganismSchema, { organismId: BigInt(id), birthTick }),
  );
  return tickStatistics(create(TickDataSchema, { tickNumber, organisms }), samplingInterval).births;
};

describe("tickStatistics", () => {
  it("counts births since the sampled tick before, that one left out", () => {
    expect(birthsAt(100n, 10, 89n, 90n, 91n, 100n)).toBe(2);
    expect(birthsAt(100n, 1, 99n, 100n)).toBe(1);
  });

  it("counts those born with the first tick", () => {
    expect(birthsAt(0n, 10, 0n, 0n)).toBe(2);
  });

  it.each([2n ** 32n, 2n ** 31n, 2n ** 53n + 5n])("is exact around tick %s", (tick) => {
    expect(birthsAt(tick, 2, tick - 3n, tick - 2n, tick - 1n, tick)).toBe(2);
  });

  it("counts the dead as deaths, and their energy not at all", () => {
    const organisms = [
      create(OrganismSchema, { organismId: 1n, energy: 30 }),
      create(OrganismSchema, { organismId: 2n, energy: -10 }),
      create(OrganismSchema, { organismId: 3n, energy: 500, deathTick: 7n }),
    ];
    const counted = tickStatistics(create(TickDataSchema, { tickNumber: 8n, organisms }), 1);
    expect(counted).toMatchObject({ population: 2, deaths: 1, totalEnergy: 20, meanEnergy: 10 });
  });
});
