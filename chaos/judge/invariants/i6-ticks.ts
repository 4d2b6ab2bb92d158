import type { Facts, RunFacts } from "../facts.ts";
import type { Violation } from "../violation.ts";

const lost = (what: string): Violation => ({ invariant: "I6", kind: "lost", what });
const wrong = (what: string): Violation => ({ invariant: "I6", kind: "wrong", what });

/** I6: each expected tick is indexed, failed or in a gap; a file that is there and whole is indexed, however late. */
export function checkTicks({ runs }: Facts): Violation[] {
  return runs.flatMap((run) => [
    ...run.indexerClasses.flatMap((indexerClass) => [
      ...coverFaults(run, indexerClass),
      ...fileFaults(run, indexerClass),
    ]),
    ...keyedFaults(run),
  ]);
}

/** Ticks of the sampling grid between two, both included. */
function* grid(start: number, end: number, samplingInterval: number): Generator<number> {
  for (let tick = start; tick <= end; tick += samplingInterval) yield tick;
}

function coverFaults(run: RunFacts, indexerClass: string): Violation[] {
  const { runId, samplingInterval, lastTick, ledger } = run;
  const rows = ledger.filter((row) => row.indexerClass === indexerClass);
  const within = (start: number, end: number) => [...grid(start, Math.min(end, lastTick), samplingInterval)];
  const inFile = new Set(rows.flatMap(({ tickStart, tickEnd }) => within(tickStart, tickEnd)));
  const gaps = run.gaps.filter((gap) => gap.indexerClass === indexerClass);
  const inGap = new Set<number>();
  const faults: Violation[] = [];
  for (const tick of gaps.flatMap(({ start, end }) => within(start, end))) {
    if (inFile.has(tick))
      faults.push(wrong(`${indexerClass}: tick ${tick} of ${runId} is in a file and in a gap`));
    if (inGap.has(tick)) faults.push(wrong(`${indexerClass}: tick ${tick} of ${runId} is in two gaps`));
    inGap.add(tick);
  }
  for (const tick of within(0, lastTick))
    if (!inFile.has(tick) && !inGap.has(tick))
      faults.push(lost(`${indexerClass}: tick ${tick} of ${runId} is neither in a file nor in a gap`));
  const beyond = gaps.filter(({ end }) => end > lastTick);
  const unfinished = rows.filter(({ status }) => status !== "completed" && status !== "failed");
  return [
    ...faults,
    ...beyond.map(({ end }) =>
      wrong(`${indexerClass}: ${runId} ends at tick ${lastTick} and misses ticks up to ${end}`),
    ),
    ...unfinished.map(({ filename }) => lost(`${indexerClass}: ${filename} of ${runId} was never finished`)),
  ];
}

function fileFaults({ runId, ledger, files }: RunFacts, indexerClass: string): Violation[] {
  const completed = new Set(
    ledger
      .filter((row) => row.indexerClass === indexerClass && row.status === "completed")
      .map(({ filename }) => filename),
  );
  return files
    .filter(({ filename, verdict }) => verdict.isWhole && !completed.has(filename))
    .map(({ filename }) =>
      lost(`${indexerClass}: ${filename} of ${runId} is there and whole, and not indexed`),
    );
}

/** What the keyed class says it has indexed is in its table. */
function keyedFaults({ runId, samplingInterval, ledger, keyedClass, keyed }: RunFacts): Violation[] {
  return ledger
    .filter(({ indexerClass, status }) => indexerClass === keyedClass && status === "completed")
    .flatMap(({ tickStart, tickEnd }) => [...grid(tickStart, tickEnd, samplingInterval)])
    .filter((tick) => !keyed.has(tick))
    .map((tick) => lost(`${keyedClass}: tick ${tick} of ${runId} counts as indexed and is not in the table`));
}
