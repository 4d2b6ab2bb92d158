import type { Evidence } from "../evidence.ts";
import type { Facts, RunFacts, StoredFile } from "../facts.ts";
import type { Violation } from "../violation.ts";

const wrong = (what: string): Violation => ({ invariant: "I7", kind: "wrong", what });

/** I7: every visible file is whole and what its name says; what is damaged or lies elsewhere is not indexed. */
export function checkFiles({ evidence, runs }: Facts): Violation[] {
  return runs.flatMap((run) => [
    ...run.files.flatMap((file) => fileFaults(file, evidence)),
    ...damagedFaults(run, evidence),
    ...foreignFaults(run),
  ]);
}

/** A file that nobody damaged is whole; nothing changes it after it was written. */
export function fileFaults(
  { key, filename, verdict }: StoredFile,
  { written, broken }: Evidence,
): Violation[] {
  if (!verdict.isWhole)
    return broken.has(key) ? [] : [wrong(`${key} is visible and not whole: ${verdict.reason}`)];
  const [first, last] = (filename.match(/\d+/g) ?? []).map(Number);
  if (first !== verdict.tickStart || last !== verdict.tickEnd)
    return [wrong(`${key} holds ticks ${verdict.tickStart} to ${verdict.tickEnd}`)];
  const crc = written.get(key);
  return crc === undefined || crc === verdict.crc ? [] : [wrong(`${key} is not what was written`)];
}

/** A claim that is older than the damage read the file when it was whole. */
function damagedFaults({ runId, files, ledger }: RunFacts, { broken }: Evidence): Violation[] {
  const damaged = new Map(
    files.filter(({ verdict }) => !verdict.isWhole).map(({ filename, key }) => [filename, key]),
  );
  return ledger
    .filter(({ filename, status, claimedMs }) => {
      const key = damaged.get(filename);
      return key !== undefined && status === "completed" && claimedMs > (broken.get(key) ?? 0);
    })
    .map(({ indexerClass, filename }) =>
      wrong(`${indexerClass}: ${filename} of ${runId} is damaged and was indexed`),
    );
}

function foreignFaults({ runId, samplingInterval, lastTick, seen }: RunFacts): Violation[] {
  return [...seen.keys()]
    .filter((tick) => tick < 0 || tick > lastTick || tick % samplingInterval !== 0)
    .map((tick) => wrong(`tick ${tick} was indexed, and run ${runId} has no such tick`));
}
