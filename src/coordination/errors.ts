import { TallymanError } from "../errors/index.ts";

/**
 * A batch file that can't be claimed: another instance of the same indexer class holds it, or it is
 * completed or failed. Normal among competing consumers: go on with the next file.
 */
export class BatchAlreadyClaimedError extends TallymanError {
  override readonly name: string = "BatchAlreadyClaimedError";
  readonly batchFilename: string;

  constructor(batchFilename: string, status: string) {
    super("BATCH_ALREADY_CLAIMED", `Batch already claimed: ${batchFilename} (${status})`, {
      details: { batchFilename, status },
    });
    this.batchFilename = batchFilename;
  }
}

/** Something was written about a file whose claim is not, or no longer, held. Nothing was changed. */
export class ClaimLostError extends TallymanError {
  override readonly name: string = "ClaimLostError";
  readonly batchFilename: string;

  constructor(batchFilename: string, reason: string) {
    super("CLAIM_LOST", `No valid claim on ${batchFilename}: ${reason}.`, {
      details: { batchFilename, reason },
    });
    this.batchFilename = batchFilename;
  }
}

/** The run's metadata is not there yet. */
export class MetadataNotFoundError extends TallymanError {
  override readonly name: string = "MetadataNotFoundError";

  constructor(runId: string) {
    super("METADATA_NOT_FOUND", `No metadata is indexed for run ${runId} yet.`, { details: { runId } });
  }
}
