/** What a statement returns: its rows, and how many it touched. */
export interface QueryResult<Row> {
  readonly rows: Row[];
  readonly rowCount: number | null;
}

/**
 * Anything that runs one statement: a {@link Database}, a {@link Transaction} or a connection.
 * Statements name Tallyman's tables as `tallyman.x` and a run's tables as `sim.x`; the executor puts
 * the configured schema in their place.
 */
export interface Executor {
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>;
}

/**
 * A caller's own client inside a transaction that the caller commits: `pg`'s Client and PoolClient,
 * and every library with the same `query(text, values)`.
 */
export interface CallerClient {
  // biome-ignore lint/suspicious/noExplicitAny: the clients' own signatures differ in everything but this
  query(text: string, values?: any[]): Promise<{ rows: any[]; rowCount?: number | null }>;
}
