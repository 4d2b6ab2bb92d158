import { useEffect, useRef } from "preact/hooks";
import type { Api } from "../../../src/client/index.ts";
import { ownerStyle } from "../owner-colours.ts";

type SegmentMap = Extract<Api["GET /api/segments"]["data"], { segmentCount: number }>;
type Segment = SegmentMap["segments"][number];

interface SegmentGridProps {
  readonly segments: readonly Segment[];
  readonly owners: readonly string[];
}

/** One square per segment, in its owner's colour; one that has changed hands lights up. */
export function SegmentGrid({ segments, owners }: SegmentGridProps) {
  const owned = segments.filter(({ workerId }) => workerId !== null).length;
  const before = usePrevious(new Map(segments.map(({ segmentId, epoch }) => [segmentId, epoch])));
  return (
    <>
      <ul class="segments" aria-label={`${owned} of ${segments.length} segments have an owner`}>
        {segments.map((segment) => (
          <Square
            key={`${segment.segmentId} ${segment.epoch}`}
            segment={segment}
            owners={owners}
            isMoved={before !== undefined && before.get(segment.segmentId) !== segment.epoch}
          />
        ))}
      </ul>
      <p class="legend" data-owned={owned}>
        {owned} of {segments.length} owned
      </p>
    </>
  );
}

function Square({
  segment,
  owners,
  isMoved,
}: {
  segment: Segment;
  owners: readonly string[];
  isMoved: boolean;
}) {
  const { segmentId, workerId, status, epoch } = segment;
  const classes = [
    "segment",
    workerId === null && "segment-free",
    status === "REVOKING" && "segment-revoking",
    isMoved && "segment-moved",
  ];
  return (
    <li
      class={classes.filter(Boolean).join(" ")}
      style={workerId === null ? undefined : ownerStyle(owners, workerId)}
      title={`Segment ${segmentId}: ${workerId ?? "no owner"}, epoch ${epoch}${status === "REVOKING" ? ", being revoked" : ""}`}
    >
      {segmentId}
    </li>
  );
}

function usePrevious<T>(value: T): T | undefined {
  const previous = useRef<T>(undefined);
  useEffect(() => {
    previous.current = value;
  });
  return previous.current;
}
