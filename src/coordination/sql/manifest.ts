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
