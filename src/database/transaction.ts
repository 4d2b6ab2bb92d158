import type pg from "pg";
import { TallymanError } from "../errors/index.ts";
import { copyIn } from "./copy.ts";
import type { DatabaseMetrics } from "./database-metrics.ts";
import type { CallerClient, Executor, QueryResult } from "./executor.ts";
import type { SchemaNames } from "./schema-names.ts";

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
  readonly #metrics: DatabaseMetrics;
  /** Shared with the scopes that {@link forRun} makes of this transaction. */
  readonly #life: { hasEnded: boolean };

  /** @internal */
  constructor(
    client: CallerClient,
    names: SchemaNames,
    metrics: DatabaseMetrics,
    life: { hasEnded: boolean } = { hasEnded: false },
  ) {
    this.#life = life;
    this.#client = client;
    this.#names = names;
    this.#metrics = metrics;
  }

  async query<Row extends object = Record<string, unknown>>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    this.#refuseAfterEnd();
    this.#metrics.queried();
    const result = await this.#client.query(this.#names.rewrite(text), values as unknown[]).catch(raise);
    return { rows: result.rows as Row[], rowCount: result.rowCount ?? null };
  }

  /**
   * Streams rows with `COPY … FROM STDIN`; nothing else may be sent until it has ended.
   *
   * @param chunks the bytes in COPY's text or binary form, cut anywhere
   * @returns the number of rows copied
   */
  async copyIn(text: string, chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<number> {
    this.#refuseAfterEnd();
    this.#metrics.queried();
    return copyIn(this.#client as pg.ClientBase, this.#names.rewrite(text), chunks).catch(raise);
  }

  /** The same transaction, for statements on one run's tables. */
  forRun(runSchema: string): Transaction {
    return new Transaction(this.#client, this.#names.forRun(runSchema), this.#metrics, this.#life);
  }

  /** @internal The connection goes back to the pool: what comes later would land in somebody else's transaction. */
  end(): void {
    this.#life.hasEnded = true;
  }

  #refuseAfterEnd(): void {
    if (!this.#life.hasEnded) return;
    throw new TallymanError(
      "INVALID_STATE",
      "The transaction has ended: await every statement inside its work.",
    );
  }
}

const raised = new WeakSet<object>();

/** Remembers an error as the database's and throws it on. */
export function raise(error: unknown): never {
  if (typeof error === "object" && error !== null) raised.add(error);
  throw error;
}

/** Whether the database raised this error; a refused connection of the caller's own is none of ours. */
export function isRaised(error: unknown): boolean {
  return typeof error === "object" && error !== null && raised.has(error);
}

/** Refuses what only looks like a client in a transaction: each of its statements would commit by itself. */
export function refuseNonTransaction(client: CallerClient): void {
  const refuse = (reason: string) => {
    throw new TallymanError("INVALID_OPTION", reason, { details: { option: "tx" } });
  };
  if (typeof client?.query !== "function")
    refuse("tx must be a Transaction or a client with query(text, values).");
  if ("totalCount" in client || "transaction" in client) {
    refuse("tx is a pool: its statements would not share a transaction. Pass the client that ran BEGIN.");
  }
  const { getTransactionStatus } = client as { getTransactionStatus?: () => string | null };
  if (getTransactionStatus?.call(client) === "I")
    refuse("tx is a client outside a transaction. Run BEGIN on it first.");
}
