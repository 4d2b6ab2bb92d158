import type pg from "pg";
import { TallymanError } from "../errors/index.ts";
import { copyIn } from "./copy.ts";
import type { CallerClient, Executor, QueryResult } from "./executor.ts";
import type { SchemaNames } from "./schema-names.ts";

/** The end of the queue of statements on one client. */
interface Turns {
  last: Promise<unknown>;
}

/**
 * An open transaction. A type of its own, so that a pool can't be passed where statements must share
 * a snapshot and a fate: get one from {@link Database.transaction}, or wrap your own client with
 * {@link Database.join}.
 *
 * Not safe for concurrent transactions, but statements may be sent without awaiting each one: they
 * travel in one round trip and run in order.
 */
export class Transaction implements Executor {
  readonly #client: CallerClient;
  readonly #names: SchemaNames;
  readonly #turns: Turns;

  /** @internal */
  constructor(client: CallerClient, names: SchemaNames, turns: Turns = { last: Promise.resolve() }) {
    this.#client = client;
    this.#names = names;
    this.#turns = turns;
  }

  async query<Row extends object = Record<string, unknown>>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    const result = await this.#send(this.#names.rewrite(text), values as unknown[]);
    return { rows: result.rows as Row[], rowCount: result.rowCount ?? null };
  }

  /**
   * Streams rows with `COPY … FROM STDIN`; nothing else may be sent until it has ended.
   *
   * @param chunks the bytes in COPY's text or binary form, cut anywhere
   * @returns the number of rows copied
   */
  copyIn(text: string, chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<number> {
    return copyIn(this.#client as pg.ClientBase, this.#names.rewrite(text), chunks);
  }

  /** The same transaction, for statements on one run's tables. */
  forRun(runSchema: string): Transaction {
    return new Transaction(this.#client, this.#names.forRun(runSchema), this.#turns);
  }

  /** A caller's client may not take a statement while another runs; there they wait for their turn. */
  #send(text: string, values: unknown[]): ReturnType<CallerClient["query"]> {
    if ((this.#client as { pipeline?: boolean }).pipeline) return this.#client.query(text, values);
    const result = this.#turns.last.then(() => this.#client.query(text, values));
    this.#turns.last = result.catch(() => undefined);
    return result;
  }
}

/** Refuses what only looks like a client: on a pool each statement would be its own transaction. */
export function refusePool(client: CallerClient): void {
  if (typeof client?.query !== "function") {
    throw new TallymanError(
      "INVALID_OPTION",
      "tx must be a Transaction or a client with query(text, values).",
    );
  }
  if ("totalCount" in client || "idleCount" in client) {
    throw new TallymanError(
      "INVALID_OPTION",
      "tx is a pool: its statements would not share a transaction. Pass the client that ran BEGIN.",
      { details: { option: "tx" } },
    );
  }
}
