import { setImmediate as turn } from "node:timers/promises";
import { type Executor, errorCodeOf, type Transaction } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { BatchSealedError, DuplicateCommandError } from "./errors.ts";
import type { Preparation } from "./preparation.ts";
import type { SerializedCommand } from "./serialize.ts";
import { enqueueCommands } from "./sql/enqueue.ts";

/** Chunks sent before the first has been answered: the server works while the next is made. */
const chunksAhead = 2;

/** Where a call's commands go. */
export interface EnqueueTarget {
  readonly batchId: string | null;
  /** The batch was made in the same transaction and counts these commands already. */
  readonly isNew: boolean;
}

/**
 * Stores all commands or none.
 *
 * @throws DuplicateCommandError, BatchSealedError; TallymanError BATCH_NOT_FOUND, and what checks commands throws
 */
export async function enqueue(
  tx: Transaction,
  target: EnqueueTarget,
  preparation: Preparation,
): Promise<void> {
  const sent: Promise<unknown>[] = [];
  for await (const commands of preparation.chunks()) {
    const chunk = enqueueChunk(tx, preparation.domain, target, commands);
    chunk.catch(() => {}); // awaited below, later than it may fail
    sent.push(chunk);
    await turn(); // lets the chunk leave before the next one is made
    await sent.at(-1 - chunksAhead);
  }
  await Promise.all(sent);
}

/** Stores one chunk in one statement, which needs no transaction around it. */
export async function enqueueChunk(
  executor: Executor,
  domain: string,
  target: EnqueueTarget,
  commands: readonly SerializedCommand[],
): Promise<void> {
  try {
    await enqueueCommands(executor, domain, target, commands);
  } catch (error) {
    throw explain(error, domain, target.batchId);
  }
}

const duplicateDetail = /\(domain, command_id\)=\(.*, ([0-9a-f-]{36})\)/s;

function explain(error: unknown, domain: string, batchId: string | null): unknown {
  switch (errorCodeOf(error)) {
    case "23505": {
      const [, commandId = "?"] = duplicateDetail.exec((error as { detail?: string }).detail ?? "") ?? [];
      return new DuplicateCommandError(domain, commandId, error);
    }
    case "23503":
      return batchNotFound(domain, batchId ?? "", error);
    case "TMSEA":
      return new BatchSealedError(batchId ?? "", error);
    default:
      return error;
  }
}

export function batchNotFound(domain: string, batchId: string, cause?: unknown): TallymanError {
  return new TallymanError("BATCH_NOT_FOUND", `Domain '${domain}' has no batch ${batchId}.`, {
    cause,
    details: { domain, batchId },
  });
}
