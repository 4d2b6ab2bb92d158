import type { Database } from "../database/index.ts";
import { Semaphore } from "./semaphore.ts";

const connectionsKeptFree = 2;
const semaphores = new WeakMap<Database, Semaphore>();

/** Bounds the transactions of handlers of all workers on a pool, so that claims, renewals and outcomes find a connection. */
export function handlerTransactions(database: Database): Semaphore {
  const known = semaphores.get(database);
  if (known) return known;
  const semaphore = new Semaphore(Math.max(1, database.stats.max - connectionsKeptFree));
  semaphores.set(database, semaphore);
  return semaphore;
}
