/**
 * What can go wrong while a component runs, by the operation that failed. These codes describe entries of
 * a component's error list; the error that reaches the caller has its own code in the errors catalogue.
 * Slices add rows as they add operations.
 */
export const operationalErrorCodes = {
  CLAIM_FAILED: "A batch could not be claimed, for another reason than that it is taken.",
  MARK_COMPLETED_FAILED: "A batch could not be marked completed.",
  MARK_FAILED_FAILED: "A batch could not be marked failed.",
  GET_MAX_TICK_END_FAILED: "The highest completed tick could not be read.",
  RECORD_GAP_FAILED: "A gap could not be recorded.",
  GET_OLDEST_GAP_FAILED: "The oldest pending gap could not be read.",
  SPLIT_GAP_FAILED: "A gap could not be split around the batch found in it.",
  MARK_GAP_PERMANENT_FAILED: "A gap could not be marked permanent.",
  GET_METADATA_FAILED: "A run's metadata could not be read.",
  HAS_METADATA_FAILED: "It could not be found out whether a run has metadata.",
  INDEX_FAILED: "A batch file could not be indexed.",
  CLAIM_COMMANDS_FAILED: "A worker could not claim commands.",
  COMMAND_MAINTENANCE_FAILED:
    "A worker could not take commands back, carry out cancellations or delete old rows.",
  HANDLER_FAILED: "A command's handler failed.",
  WRITE_BATCH_FAILED: "A batch file could not be written.",
  READ_BATCH_FAILED: "A batch file could not be read, or is damaged.",
  WRITE_MESSAGE_FAILED: "A message file could not be written.",
  READ_MESSAGE_FAILED: "A message file could not be read, or is damaged.",
  LIST_BATCH_FILES_FAILED: "The storage could not be listed.",
  TOPIC_SEND_FAILED: "Messages could not be sent to a topic.",
  TOPIC_CLAIM_FAILED: "A topic could not be asked for messages.",
  TOPIC_ACK_FAILED: "Messages could not be acknowledged, for another reason than that they are stale.",
  TICK_REJECTED: "A tick could not be written and was given up.",
  FIRE_JOB_FAILED: "A job could not be fired and was parked.",
  SCAN_JOBS_FAILED: "A scheduler worker could not read or fire due jobs.",
  HEARTBEAT_FAILED: "A heartbeat was not answered.",
  ELECTION_FAILED: "A coordinator could not reach the database to campaign, renew or report.",
  LEADER_ROUND_FAILED: "A round of the leader over the fleet failed.",
  CONNECT_FAILED: "No connection of the pool could be had.",
  SERVICE_FAILED: "A service ended with an error.",
  COLLECT_FAILED: "A component threw while its metrics were read.",
} as const;

/** A code of {@link operationalErrorCodes}, or one of a user's own component. */
export type OperationalErrorCode = keyof typeof operationalErrorCodes | (string & {});

/** One failure that a component met and survived. */
export interface OperationalError {
  readonly timestamp: Date;
  readonly code: OperationalErrorCode;
  /** What failed, the same text for every failure with this code. */
  readonly message: string;
  /** What it failed on and why: file, range, the underlying error's text. Never a secret. */
  readonly details: string;
}
