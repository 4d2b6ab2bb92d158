/** The states of a scheduler worker, by the database's clock. */
export type WorkerStatus = "ONLINE" | "DRAINING" | "UNHEALTHY" | "OFFLINE";

/** The states of a segment. */
export type SegmentStatus = "AVAILABLE" | "ASSIGNED" | "REVOKING";

/** The right to work on one segment: it ends with its epoch, and the database refuses it from then on. */
export interface SegmentGrant {
  readonly segmentId: number;
  readonly epoch: number;
}

/** A scheduler worker as the database knows it. */
export interface WorkerInfo {
  readonly workerId: string;
  readonly status: WorkerStatus;
  /** Segments at most; null: no limit. */
  readonly cap: number | null;
  readonly heartbeatTimeoutMs: number;
  readonly registeredAt: Date;
  readonly lastHeartbeatTime: Date;
  /** Ids of the segments that it holds, those included that it is asked to give back. */
  readonly assignedSegments: readonly number[];
}

/** A segment and its owner. */
export interface SegmentInfo {
  readonly segmentId: number;
  readonly status: SegmentStatus;
  readonly workerId: string | null;
  readonly epoch: number;
  readonly assignedAt: Date | null;
  /** When a segment that its worker does not give back is taken; null unless REVOKING. */
  readonly revokeDeadline: Date | null;
}

/** The fleet in figures. */
export interface FleetCounts {
  readonly workersOnline: number;
  readonly workersUnhealthy: number;
  readonly segmentsOwned: number;
  readonly segmentCount: number;
}

/** What a heartbeat answers: the worker's state and every segment that it may work on. */
export interface HeartbeatAnswer {
  readonly status: WorkerStatus;
  /** Work on these. */
  readonly assigned: readonly SegmentGrant[];
  /** Finish what is under way on these, then release them. */
  readonly revoking: readonly SegmentGrant[];
}
