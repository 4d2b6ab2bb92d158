import pg from "pg";

const { builtins } = pg.types;

/**
 * Ticks, positions and counts are int8 in the database and numbers here: they stay far below 2^53,
 * and one that does not is an error, never a silently rounded value.
 */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`int8 ${text} is beyond 2^53`);
  return value;
}

/** Type parsers of Tallyman's own connections; a caller's client keeps its own. */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    if (oid === builtins.INT8 && format !== "binary") return parseInt8;
    return pg.types.getTypeParser(oid, format as "text");
  },
};
