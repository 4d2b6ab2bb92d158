/**
 * Coordination: the ledger of claims and the map of gaps, one of each per run.
 *
 * Model. A run's manifest (`batch_files`) knows every file that was announced or found. For each
 * indexer class the ledger (`coordinator_batches`) says who claimed a file, until when, and how many of
 * its records are indexed; `coordinator_gaps` says which expected ticks no known file covers.
 *
 *     (none) ── tryClaim ──► claimed ── markCompleted ──► completed
 *                            ▲ │ └───── markFailed ─────► failed
 *            lease ran out:  └─┘                            │
 *            claim_version + 1 ◄──────── retryFailed ───────┘
 *
 * Invariants. One holder per claim version, versions only rise, and every write about a file names its
 * version: a stale holder changes nothing. A completed file stays completed. Each expected tick is in
 * exactly one class: indexed, in flight, failed, pending gap, permanent gap. A backlog is never a gap.
 * Gaps are derived, not kept by hand: under the run's lock, expected minus known; rows keep their age.
 *
 * Failure. An instance that dies loses its lease; whoever asks next takes over at the position that
 * was committed. A gap that is old becomes permanent, and opens again when its file arrives after all.
 */
export type {
  BatchCoordinator,
  BatchCoordinatorReady,
  ClaimResult,
  ExpectedRange,
  WriteOptions,
} from "./batch-coordinator.ts";
export { type BatchCoordinatorOptions, createBatchCoordinator } from "./database-batch-coordinator.ts";
export { type CapabilityOptions, DatabaseCapability } from "./database-capability.ts";
export { BatchAlreadyClaimedError, ClaimLostError, MetadataNotFoundError } from "./errors.ts";
export {
  DatabaseIdempotencyTracker,
  type IdempotencyTracker,
  InMemoryIdempotencyTracker,
} from "./idempotency-tracker.ts";
export { findMetadata, MetadataReader, MetadataWriter } from "./metadata.ts";
export { DatabaseRetryTracker, InMemoryRetryTracker, type RetryTracker } from "./retry-tracker.ts";
export { accountForRun, indexerNotFound, type RunAccount } from "./run-account.ts";
export { getRun, listRuns, type RunInfo, type RunMetadata } from "./run-info.ts";
export type { BatchToClaim, GrantedClaim, RefusedClaim } from "./sql/claim-batches.ts";
export type { ClaimStep, FailedFilter, HeldClaim, LedgerEntry, TakenOver } from "./sql/claims.ts";
export { type FailedFile, listFailedFiles } from "./sql/failed-files.ts";
export { countGaps, type GapCounts, type GapInfo, type GapPage, listGaps } from "./sql/gaps.ts";
export type { KnownFile, UnclaimedFile } from "./sql/manifest.ts";
export type { ReconciledGaps } from "./sql/reconcile-gaps.ts";
export {
  type ClaimCount,
  countClaims,
  type InstanceClaims,
  listIndexerClasses,
  type TickClass,
} from "./sql/tick-account.ts";
export { accountForTicks, type TickAccount } from "./tick-account.ts";
export { bucketTicks, type TickBucket, type TickBucketOptions } from "./tick-buckets.ts";
