import type pg from "pg";
import { TallymanError } from "../errors/index.ts";
import { retryClassOf } from "./sqlstate.ts";
import { raise, type Transaction } from "./transaction.ts";

/** Runs `work` between BEGIN and COMMIT; an error rolls everything back and is thrown on. */
export async function runTransaction<T>(
  client: pg.PoolClient,
  tx: Transaction,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  await client.query("BEGIN").catch(raise);
  let result: T;
  try {
    result = await work(tx);
  } catch (error) {
    tx.end();
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
  tx.end();
  await commit(client);
  return result;
}

async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query("COMMIT").catch((error: unknown) => {
    if (retryClassOf(error) !== "connection-lost") raise(error);
    throw new TallymanError(
      "COMMIT_UNKNOWN",
      "The connection to PostgreSQL broke during COMMIT: look for the effect before doing it again.",
      { cause: error },
    );
  });
  // The server answers COMMIT of a failed transaction with ROLLBACK, and no error.
  if (command !== "COMMIT") {
    throw new TallymanError(
      "DATABASE_ERROR",
      "The transaction was rolled back: one of its statements had failed and its error was not passed on.",
    );
  }
}
