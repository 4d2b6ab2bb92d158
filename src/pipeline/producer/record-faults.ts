import { type Cell, CellState, type Organism, type TickData } from "../../contracts/index.ts";
import { validateRunId } from "../../database/index.ts";
import { toTallymanError } from "../../errors/index.ts";

/** Where a record says that it belongs. */
export interface RecordPosition {
  readonly runId: string;
  readonly sequence: number;
  readonly samplingInterval: number;
}

const uint32Max = 2 ** 32 - 1;
const int32Max = 2 ** 31 - 1;

/** Why no file can hold a record of this run and number; undefined when one can. */
export function positionFault(position: RecordPosition, wantedRunId: string | undefined): string | undefined {
  const { runId, sequence, samplingInterval } = position;
  if (wantedRunId !== undefined && runId !== wantedRunId)
    return `tick ${sequence} is of run '${runId}', not of '${wantedRunId}'`;
  if (!Number.isSafeInteger(sequence) || sequence < 0)
    return `tick ${sequence} is not a whole number of at least 0`;
  if (sequence % samplingInterval !== 0)
    return `tick ${sequence} is not a multiple of the sampling interval ${samplingInterval}`;
  return runFault(runId);
}

/** What makes a tick impossible to index: cells or organisms that can't be, or are there twice. */
export function tickFault({ cells, organisms }: TickData): string | undefined {
  const cell = cells.find((candidate) => !isCell(candidate));
  if (cell) return `cell ${cell.cellId} is invalid`;
  const organism = organisms.find((candidate) => !isOrganism(candidate));
  if (organism) return `organism ${organism.organismId} is invalid`;
  if (!areDistinct(cells.map(({ cellId }) => cellId))) return "a cell is there twice";
  if (!areDistinct(organisms.map(({ organismId }) => organismId))) return "an organism is there twice";
  return undefined;
}

function runFault(runId: string): string | undefined {
  try {
    validateRunId(runId);
    return undefined;
  } catch (error) {
    return toTallymanError(error).message;
  }
}

function isCell({ cellId, x, y, state, value, owner }: Cell): boolean {
  const isPlaced = isUint32(cellId) && isUint32(x) && isUint32(y);
  const isKnown = state > CellState.UNSPECIFIED && CellState[state] !== undefined;
  return isPlaced && isKnown && isInt32(value) && owner >= 0n;
}

function isOrganism({ organismId, birthTick, x, y, energy, age }: Organism): boolean {
  return organismId > 0n && birthTick >= 0n && isUint32(x) && isUint32(y) && isInt32(energy) && isInt32(age);
}

function isUint32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= uint32Max;
}

function isInt32(value: number): boolean {
  return Number.isInteger(value) && value >= -int32Max - 1 && value <= int32Max;
}

/** Ids mostly ascend, and then a look at the one before is enough. */
function areDistinct(ids: readonly (number | bigint)[]): boolean {
  const ascend = ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? id));
  return ascend || new Set(ids).size === ids.length;
}
