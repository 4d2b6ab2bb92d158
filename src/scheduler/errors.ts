import { TallymanError } from "../errors/index.ts";

/** No worker is registered under this id. */
export function unknownWorker(workerId: string): TallymanError {
  return new TallymanError(
    "SCHEDULER_WORKER_NOT_FOUND",
    `No scheduler worker '${workerId}' is registered. Register it first; 'tallyman workers' lists those that are.`,
    { details: { workerId } },
  );
}

/** Another process works under this id since. */
export function workerReplaced(workerId: string): TallymanError {
  return new TallymanError(
    "SCHEDULER_WORKER_REPLACED",
    `Scheduler worker '${workerId}' is run by another process, or has left: this one no longer counts.`,
    { details: { workerId } },
  );
}

/** A process works under this id, and the caller does not say that it is that process. */
export function workerIdTaken(workerId: string): TallymanError {
  return new TallymanError(
    "SCHEDULER_WORKER_ID_TAKEN",
    `A process works as scheduler worker '${workerId}'. Choose another id, or wait until it has left.`,
    { details: { workerId } },
  );
}

/** Nobody leads. */
export function noLeader(): TallymanError {
  return new TallymanError(
    "SCHEDULER_NO_LEADER",
    "No coordinator leads at the moment. Start one with 'tallyman coordinator', or ask again in a moment.",
  );
}

/** Another process runs under this coordinator's id. */
export function coordinatorReplaced(coordinatorId: string): TallymanError {
  return new TallymanError(
    "SCHEDULER_COORDINATOR_REPLACED",
    `Another process runs as coordinator '${coordinatorId}': this one stops. Give each an id of its own.`,
    { details: { coordinatorId } },
  );
}
