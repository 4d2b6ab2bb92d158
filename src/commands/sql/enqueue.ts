import type { Executor } from "../../database/index.ts";
import type { SerializedCommand } from "../serialize.ts";

/** Rows of one call of the stored function; larger calls only cost memory. */
export const enqueueChunkMax = 5_000;
/** Letters of data from which on a chunk takes no more commands: large ones must not add up to more than a text can be. */
export const enqueueChunkLettersMax = 16 * 1024 * 1024;

/**
 * Stores commands with their SENT events, in one statement whatever their number: lists of the columns, and
 * the data as lines of one text. Measured ahead of one JSON document and level with COPY, which a caller's
 * client may not know.
 *
 * @param batch the batch to add to; `isNew` when the same transaction made it, with its count
 */
export async function enqueueCommands(
  executor: Executor,
  domain: string,
  batch: { readonly batchId: string | null; readonly isNew: boolean },
  commands: readonly SerializedCommand[],
): Promise<void> {
  await executor.query(
    `SELECT tallyman.command_bus_enqueue($1, $2, $3, $4::uuid[], $5::text[], $6, $7::uuid[], $8::text[], $9::integer[],
       $10::integer[], $11::timestamptz[])`,
    [
      domain,
      batch.batchId,
      batch.isNew,
      `{${commands.map(({ commandId }) => commandId).join(",")}}`,
      commands.map(({ commandType }) => commandType),
      // JSON.stringify writes a line break inside of a text as \n, so lines hold one command each.
      commands.map(({ data }) => data).join("\n"),
      column(commands, ({ correlationId }) => correlationId),
      column(commands, ({ replyTo }) => replyTo),
      column(commands, ({ priority }) => priority),
      column(commands, ({ maxAttempts }) => maxAttempts),
      column(commands, ({ runAt }) => runAt),
    ],
  );
}

/** A list for a parameter, or null when it would say nothing: most commands leave most at their defaults. */
export function column<Row, T>(
  rows: readonly Row[],
  value: (row: Row) => T | undefined,
): (T | null)[] | null {
  return rows.some((row) => value(row) !== undefined) ? rows.map((row) => value(row) ?? null) : null;
}
