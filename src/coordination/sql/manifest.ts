import type { Executor } from "../../database/index.ts";

/** A batch file that was announced or found. */
export interface KnownFile {
  readonly filename: string;
  readonly storageKey: string;
  readonly tickStart: number;
  readonly tickEnd: number;
  /** Size and checksum, as announced; absent for a file that was found. */
  readonly bytes?: number;
  readonly crc?: number;
}

/** Enters files in the run's manifest; returns those that were not known before. */
export async function registerFiles(executor: Executor, files: readonly KnownFile[]): Promise<string[]> {
  const { rows } = await executor.query<{ filename: string }>(
    `INSERT INTO sim.batch_files (batch_filename, storage_key, tick_start, tick_end, bytes, crc)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) AS f(filename)
     ORDER BY f.filename
     ON CONFLICT (batch_filename) DO NOTHING
     RETURNING batch_filename AS filename`,
    [
      files.map((file) => file.filename),
      files.map((file) => file.storageKey),
      files.map((file) => file.tickStart),
      files.map((file) => file.tickEnd),
      files.map((file) => file.bytes ?? null),
      files.map((file) => file.crc ?? null),
    ],
  );
  return rows.map((row) => row.filename);
}

/** A file of the manifest that no instance of a class has claimed yet. */
export type UnclaimedFile = Required<Pick<KnownFile, "filename" | "storageKey" | "tickStart" | "tickEnd">> & {
  readonly crc: number | null;
};

/**
 * Files that have been known for some time and that this class never claimed, the oldest ticks first:
 * their announcement was lost, or they were found for another class.
 */
export async function unclaimedFiles(
  executor: Executor,
  indexerClass: string,
  knownForMs: number,
  limit: number,
): Promise<UnclaimedFile[]> {
  const { rows } = await executor.query<UnclaimedFile>(
    `SELECT f.batch_filename AS filename, f.storage_key AS "storageKey", f.tick_start AS "tickStart",
            f.tick_end AS "tickEnd", f.crc
     FROM sim.batch_files f
     WHERE f.known_since <= clock_timestamp() - $2 * interval '1 millisecond'
       AND NOT EXISTS (
         SELECT FROM sim.coordinator_batches b
         WHERE b.indexer_class = $1 AND b.batch_filename = f.batch_filename)
     ORDER BY f.tick_start LIMIT $3`,
    [indexerClass, knownForMs, limit],
  );
  return rows;
}

/** The last tick of the known file that begins last, or -1. */
export async function lastKnownTick(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ tick_end: number }>(
    "SELECT tick_end FROM sim.batch_files ORDER BY tick_start DESC LIMIT 1",
  );
  return Number(rows[0]?.tick_end ?? -1);
}
