import { type CatalogueEntry, exitCodes } from "./catalogue-entry.ts";

/** Rows of the scheduler. */
export const schedulerCodes = {
  SCHEDULER_NO_LEADER: {
    status: 503,
    exit: exitCodes.error,
    meaning: "No coordinator leads at the moment, or the one that does can't be reached.",
    remedy: "Start one with `tallyman coordinator`, or ask again when the next one is elected.",
  },
  SCHEDULER_COORDINATOR_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No coordinator is registered under this id.",
    remedy: "Register it first; `tallyman leader` lists those that are.",
  },
  SCHEDULER_COORDINATOR_REPLACED: {
    status: 409,
    exit: exitCodes.error,
    meaning: "Another process is registered under the coordinator's id.",
    remedy: "Give each coordinator an id of its own.",
  },
  SCHEDULER_WORKER_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No scheduler worker is registered under this id.",
    remedy: "Register it first; `tallyman workers` lists those that are.",
  },
  SCHEDULER_WORKER_REPLACED: {
    status: 409,
    exit: exitCodes.error,
    meaning: "Another process has registered under the worker's id since, or the worker has left.",
    remedy: "Stop the earlier process; give each worker an id of its own.",
  },
  SCHEDULER_WORKER_ID_TAKEN: {
    status: 409,
    exit: exitCodes.error,
    meaning: "A process works under this id, and the caller did not say that it is that process.",
    remedy: "Choose another id, or wait until that worker has left.",
  },
  JOB_INVALID: {
    status: 400,
    exit: exitCodes.usage,
    meaning: "A job's schedule, payload or setting is wrong; nothing was stored.",
    remedy: "The message names the field and what it accepts.",
  },
  JOB_EXISTS: {
    status: 409,
    exit: exitCodes.error,
    meaning: "A job with this key exists already; nothing was stored.",
    remedy: "Choose another key, or update or remove the job that has it.",
  },
  JOB_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No job has this key.",
    remedy: "`tallyman job list` shows those that exist.",
  },
} as const satisfies Record<string, CatalogueEntry>;
