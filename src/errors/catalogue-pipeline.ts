import { type CatalogueEntry, exitCodes } from "./catalogue-entry.ts";

/** Rows of the pipeline: runs, ledger, batch files, topics, and the services that it consists of. */
export const pipelineCodes = {
  RUN_ID_INVALID: {
    status: 400,
    exit: exitCodes.usage,
    meaning: "A simulation run id has characters, or a length, that are not allowed.",
    remedy: "Use letters, digits, '-' and '_', beginning with a letter or digit; at most 100 characters.",
  },
  RUN_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No simulation run with this id exists.",
    remedy: "List the known runs with `tallyman run list`.",
  },
  RUN_MISMATCH: {
    status: 409,
    exit: exitCodes.usage,
    meaning: "A simulation run was to go on with another seed, size or sampling interval than it began with.",
    remedy: "Give the settings that the message names, or begin a new run.",
  },
  BATCH_ALREADY_CLAIMED: {
    status: 409,
    exit: exitCodes.error,
    meaning: "Another instance holds the batch file, or it is completed or failed.",
    remedy: "Nothing to repair: competing consumers go on with the next file.",
  },
  CLAIM_LOST: {
    status: 409,
    exit: exitCodes.error,
    meaning:
      "A batch file was written about without a valid claim: its lease ran out and another instance took over, or it was never claimed.",
    remedy: "Drop the work on this file; whoever holds the claim does it.",
  },
  METADATA_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "The run's metadata is not indexed yet.",
    remedy: "Wait until a MetadataIndexer has written it.",
  },
  METADATA_INVALID: {
    status: 422,
    exit: exitCodes.usage,
    meaning: "What is said about a run can't be true: of another run, or with an impossible interval or end.",
    remedy: "Correct the producer, and let it write the run's metadata again.",
  },
  METADATA_TIMEOUT: {
    status: 504,
    exit: exitCodes.error,
    meaning: "The run's metadata did not come in time.",
    remedy:
      "Check that the producer wrote it and that a MetadataIndexer runs for this run; then start again.",
  },
  INDEXER_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No indexer of that name has worked on the run.",
    remedy: "Use the name of its class, as 'tallyman gaps' shows it.",
  },
  TICK_NOT_INDEXED: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "The run has no indexed data at the tick, nor, unless just that tick was asked for, before it.",
    remedy: "Ask for a later tick, or wait for the indexers.",
  },
  ORGANISM_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No organism of this id is indexed.",
    remedy: "Ask for the organisms that live at a tick; they come with their ids.",
  },
  INDEXER_GROUP_CONFLICT: {
    status: 409,
    exit: exitCodes.usage,
    meaning: "Two consumer groups, or two indexer classes, would write the same tables.",
    remedy: "Give all instances of an indexer the same group, and each class tables of its own.",
  },
  DLQ_FULL: {
    status: 507,
    exit: exitCodes.error,
    meaning: "The dead-letter queue has no room for another letter.",
    remedy: "Mend and re-drive what is there, or raise its capacity.",
  },
  STORAGE_KEY_INVALID: {
    status: 400,
    exit: exitCodes.usage,
    meaning: "A storage key is not one that Tallyman writes, or would lead out of the storage's root.",
    remedy:
      "Use keys as writeBatch and listBatchFiles return them: a run id, then plain names, joined by '/'.",
  },
  STORAGE_FILE_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No file with this key is in the storage.",
    remedy: "List what is there with `tallyman run inspect <runId>`.",
  },
  STORAGE_FILE_TOO_LARGE: {
    status: 413,
    exit: exitCodes.error,
    meaning: "A record or file is larger than a reader accepts, or than what may be held in memory at once.",
    remedy: "Read the file as a stream (openBatch), or write smaller records or batches.",
  },
  STORAGE_FULL: {
    status: 507,
    exit: exitCodes.error,
    meaning: "The storage has no room for a file; nothing of it was made visible.",
    remedy: "Free space, or raise the quota, and write the batch again.",
  },
  STORAGE_UNAVAILABLE: {
    status: 503,
    exit: exitCodes.error,
    meaning: "The storage failed to read or write: a disk error, missing rights, or no answer.",
    remedy: "The message names the file and the system's reason; the operation may be repeated.",
  },
  STORAGE_TOKEN_INVALID: {
    status: 400,
    exit: exitCodes.usage,
    meaning: "A continuation of a listing is not one that this run's listing returned.",
    remedy: "Pass the token of the last page unchanged, with the same run, or begin without one.",
  },
  BATCH_INVALID: {
    status: 422,
    exit: exitCodes.usage,
    meaning: "A batch's range is inverted, or its records belong to another run or range.",
    remedy: "Write one run's records with the first and last of their ticks.",
  },
  BATCH_CONFLICT: {
    status: 409,
    exit: exitCodes.error,
    meaning: "A file with this run and tick range exists and holds other records.",
    remedy: "Batch files never change: look for two producers that write the same run.",
  },
  BATCH_CORRUPT: {
    status: 422,
    exit: exitCodes.error,
    meaning: "A file in the storage is torn, truncated or altered; nothing of it was handed out.",
    remedy: "Restore the file or let its producer write it again: a damaged file is replaced.",
  },
  RESOURCE_URI_INVALID: {
    status: 422,
    exit: exitCodes.usage,
    meaning: "A resource binding is not of the form usage:resource?param=value.",
    remedy: "Write for example topic-read:batch-topic?consumerGroup=dummy-indexer.",
  },
  TOPIC_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No topic of this name exists.",
    remedy: "List the topics with `tallyman topic list`; the first writer or reader makes one.",
  },
  TOPIC_GROUP_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "The topic has no consumer group of this name, or the group was deleted.",
    remedy: "List the groups with `tallyman topic groups`; the first reader makes one.",
  },
  TOPIC_TYPE_MISMATCH: {
    status: 409,
    exit: exitCodes.error,
    meaning: "A topic was opened for another type of message than it holds.",
    remedy: "Use another topic, or the type that it was made with.",
  },
  TOPIC_PAYLOAD_INVALID: {
    status: 422,
    exit: exitCodes.error,
    meaning: "The bytes of a message are not a message of the topic's type.",
    remedy: "Dead-letter the message and look for the program that sent it.",
  },
  STALE_MESSAGE: {
    status: 409,
    exit: exitCodes.error,
    meaning: "A message was settled by a consumer that no longer holds it.",
    remedy: "Drop what was done with it, or raise claimTimeoutMs, or extend claims while working.",
  },
  NATS_UNREACHABLE: {
    status: 503,
    exit: exitCodes.error,
    meaning: "No NATS server with JetStream answers at the given address.",
    remedy: "Check the address, and that the server runs with JetStream enabled.",
  },
  UNSUPPORTED_BY_DRIVER: {
    status: 400,
    exit: exitCodes.usage,
    meaning: "The driver that is in use can't do what was asked.",
    remedy: "Ask its capabilities first, or use the driver that the message names.",
  },
  SERVICE_UNKNOWN: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No service of this name runs anywhere, or not in the process that was named.",
    remedy: "List the services with `tallyman service list`.",
  },
  SERVICE_AMBIGUOUS: {
    status: 409,
    exit: exitCodes.usage,
    meaning: "Several processes run a service of this name.",
    remedy: "Say which one is meant with --manager; `tallyman service list` names them.",
  },
  SERVICE_WRONG_STATE: {
    status: 409,
    exit: exitCodes.error,
    meaning: "The service is in a state in which it can't do what was asked.",
    remedy: "The message names the state and the actions that fit it.",
  },
} as const satisfies Record<string, CatalogueEntry>;
