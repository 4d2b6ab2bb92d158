import type { TickData } from "../../../contracts/index.ts";
import type { Transaction } from "../../../database/index.ts";
import { organismLives } from "../organism-lives.ts";

/**
 * Enters what `ticks` tell about the lives of organisms: earliest birth, greatest parent id, earliest
 * death, so that ticks give the same rows in any order and however often they come.
 *
 * `ON CONFLICT DO UPDATE` locks every row that it meets, changed or not, so rows that would stay as they
 * are don't reach it: what was read is only ever surpassed, never taken back. Rows are locked in the
 * order of their key and held until the end of the transaction: call this last.
 *
 * @returns the number of organisms that are new or changed
 */
export async function mergeOrganisms(tx: Transaction, ticks: readonly TickData[]): Promise<number> {
  const lives = organismLives(ticks);
  const { rowCount } = await tx.query(
    `INSERT INTO sim.organisms AS o (organism_id, birth_tick, parent_id, death_tick)
     SELECT seen.organism_id, seen.birth_tick, seen.parent_id, seen.death_tick
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
       AS seen(organism_id, birth_tick, parent_id, death_tick)
     LEFT JOIN sim.organisms known USING (organism_id)
     WHERE known.organism_id IS NULL
       OR (known.birth_tick, known.parent_id, known.death_tick) IS DISTINCT FROM
          (LEAST(known.birth_tick, seen.birth_tick), GREATEST(known.parent_id, seen.parent_id),
           LEAST(known.death_tick, seen.death_tick))
     ORDER BY seen.organism_id
     ON CONFLICT (organism_id) DO UPDATE SET
       birth_tick = LEAST(o.birth_tick, excluded.birth_tick),
       parent_id = GREATEST(o.parent_id, excluded.parent_id),
       death_tick = LEAST(o.death_tick, excluded.death_tick)`,
    [
      lives.map((life) => life.organismId),
      lives.map((life) => life.birthTick),
      lives.map((life) => life.parentId ?? null),
      lives.map((life) => life.deathTick ?? null),
    ],
  );
  return rowCount ?? 0;
}
