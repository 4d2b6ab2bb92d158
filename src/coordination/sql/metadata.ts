import type { Executor } from "../../database/index.ts";

/** A run's metadata as it lies in the table: key and JSON value. */
export type MetadataEntries = Readonly<Record<string, unknown>>;

/** Writes the entries, replacing those that are there. */
export async function upsertMetadata(executor: Executor, entries: MetadataEntries): Promise<void> {
  await executor.query(
    `INSERT INTO sim.metadata (key, value) SELECT key, value FROM jsonb_each($1)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE metadata.value IS DISTINCT FROM excluded.value`,
    [JSON.stringify(entries)],
  );
}

/** Reads all entries; empty while there are none. */
export async function readMetadata(executor: Executor): Promise<MetadataEntries> {
  const { rows } = await executor.query<{ entries: MetadataEntries | null }>(
    "SELECT jsonb_object_agg(key, value) AS entries FROM sim.metadata",
  );
  return rows[0]?.entries ?? {};
}
