import type { Database, Transaction } from "../database/index.ts";
import { logger } from "../runtime/index.ts";
import { notify } from "./sql/hint.ts";

const log = logger("scheduler.hints");

/** Room for the longest suffix below PostgreSQL's 63 bytes of a channel's name. */
const schemaLettersMax = 40;

/** Channels of the scheduler's hints. */
export interface SchedulerChannels {
  /** The leader has resigned: followers campaign. */
  readonly leadership: string;
  /** Workers came, left, or gave something back: the leader looks. */
  readonly fleet: string;
  /** Segments were assigned or revoked: workers send a heartbeat. */
  readonly segments: string;
  /** Jobs were created or changed: workers look for what is due. */
  readonly jobs: string;
}

/** The channels of a database; subscribe with `database.listener`. A hint that is lost costs a poll interval. */
export function schedulerChannels(database: Database): SchedulerChannels {
  const prefix = `${database.names.schema.slice(0, schemaLettersMax)}_scheduler`;
  return {
    leadership: `${prefix}_leadership`,
    fleet: `${prefix}_fleet`,
    segments: `${prefix}_segments`,
    jobs: `${prefix}_jobs`,
  };
}

/** Sends a hint after the change that it is about has committed; never fails. */
export async function hint(database: Database, channel: keyof SchedulerChannels): Promise<void> {
  await notify(database, schedulerChannels(database)[channel]).catch((error) =>
    log.debug("A hint was not sent; pollers find out by themselves", { channel, reason: String(error) }),
  );
}

/** Sends a hint with a caller's transaction: when that commits, and only then. */
export function hintInside(
  database: Database,
  tx: Transaction,
  channel: keyof SchedulerChannels,
): Promise<void> {
  return notify(tx, schedulerChannels(database)[channel]);
}
