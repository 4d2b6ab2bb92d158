import pg from "pg";

/** int8 as numbers: none of ours is larger than they can hold. */
const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8
      ? Number
      : (pg.types.getTypeParser(oid, format) as (text: string) => unknown),
};

/** A plain connection of the judge's own, for statements of its own. */
export async function withReader<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: "chaos judge", types });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The rows of one statement. */
export async function rowsOf<Row extends object>(
  client: pg.Client,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const { rows } = await client.query<Row>(text, [...values]);
  return rows;
}

/** How often each text of the column `key` comes. */
export async function countsOf(client: pg.Client, text: string, values: readonly unknown[] = []) {
  const rows = await rowsOf<{ key: string; count: number }>(client, text, values);
  return new Map(rows.map(({ key, count }) => [key, Number(count)]));
}
