/** Neighbouring records: no number of the grid between the first and the last is missing. */
export interface Segment<T> {
  readonly first: number;
  readonly last: number;
  readonly records: readonly T[];
}

/**
 * Puts records in order and cuts them where a number of the grid is missing, so that a file named by its first
 * and last number holds everything in between: a hole inside a file would hide from the gap map.
 */
export function segmentsOf<T>(
  records: readonly T[],
  sequenceOf: (record: T) => number,
  samplingInterval: number,
): Segment<T>[] {
  const sorted = records.map((record) => ({ record, sequence: sequenceOf(record) }));
  sorted.sort((a, b) => a.sequence - b.sequence);
  const segments: { first: number; last: number; records: T[] }[] = [];
  for (const { record, sequence } of sorted) {
    const current = segments.at(-1);
    if (current && sequence === current.last + samplingInterval) {
      current.records.push(record);
      current.last = sequence;
    } else segments.push({ first: sequence, last: sequence, records: [record] });
  }
  return segments;
}
