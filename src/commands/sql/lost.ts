import type { Executor } from "../../database/index.ts";

/** Commands that wait for ever: neither ended nor in troubleshooting, in no block of the queue and under no lease. */
export interface LostCommands {
  readonly count: number;
  /** One of them, null when there is none. */
  readonly example: { readonly domain: string; readonly commandId: string } | null;
}

/**
 * Looks for commands that no worker can ever get. One snapshot, in which every command has its one place; reads
 * all commands once: for checks, not for every minute.
 */
export async function selectLostCommands(executor: Executor): Promise<LostCommands> {
  const { rows } = await executor.query<LostCommands>(
    `WITH lost AS MATERIALIZED (
       SELECT c.id, c.domain, c.command_id FROM tallyman.command_bus_command c
       WHERE c.status = 'PENDING'
         AND NOT EXISTS (SELECT FROM tallyman.command_bus_queue q, unnest(q.command_rows) AS w (id) WHERE w.id = c.id)
         AND NOT EXISTS (SELECT FROM tallyman.command_bus_held h WHERE h.id = c.id AND h.delivery = c.delivery))
     SELECT count(*)::integer AS count,
            (SELECT jsonb_build_object('domain', l.domain, 'commandId', l.command_id) FROM lost l ORDER BY l.id LIMIT 1)
              AS example
     FROM lost`,
  );
  return rows[0] ?? { count: 0, example: null };
}
