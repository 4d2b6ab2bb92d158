import { useRef } from "preact/hooks";
import { propose } from "../actions.ts";
import { type Answer, call } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { Age } from "../components/age.tsx";
import { Badge } from "../components/badge.tsx";
import { Panel, ScreenHead } from "../components/panel.tsx";
import { ProgressBar } from "../components/progress-bar.tsx";
import { WhenLoaded } from "../components/states.tsx";
import { useData } from "../data.ts";
import { type Estimate, estimateOf, type Observation } from "../estimate.ts";
import { counted, formatClock, formatCount, formatRate, formatSpan, shortId } from "../format.ts";
import { connection } from "../live.ts";
import { now } from "../now.ts";
import { search, setSearch } from "../router.ts";
import { BatchCommands } from "./batch-commands.tsx";
import { type Batch, BlockedBy } from "./batch-table.tsx";
import { CommandInspector } from "./command-inspector.tsx";
import { Timeline } from "./timeline.tsx";

/** One batch: where its commands are, how fast it goes, what happened to it. */
export function BatchScreen({ batchId }: { batchId: string }) {
  const topics = [`batch:${batchId}`];
  const batch = useData(
    batchId,
    (signal) => call("GET /api/batches/:batchId", { params: { batchId }, signal }),
    topics,
  );
  return (
    <>
      <WhenLoaded of={batch}>
        {(data) => (
          <>
            <BatchHead batch={data} reload={batch.reload} />
            <div class="columns columns-side">
              <BatchProgress batch={data} />
              <BatchTimeline batch={data} />
            </div>
            <BatchCommands batch={data} />
          </>
        )}
      </WhenLoaded>
      <CommandInspector />
    </>
  );
}

function BatchHead({ batch, reload }: { batch: Batch; reload: () => void }) {
  const { batchId, name, domain, status, isSealed } = batch;
  const isOver = batch.completedAt !== null;
  return (
    <ScreenHead
      title={
        <>
          <a href="/batches">Batches</a> <span class="faint">/</span> {name || shortId(batchId)}
        </>
      }
    >
      <span class="soft">{domain}</span>
      <Badge state={status} />
      {!isSealed && <ActionButton onClick={() => proposeSeal(batch, reload)}>Seal</ActionButton>}
      <ActionButton isDisabled={isOver} onClick={() => proposeCancel(batch, reload)}>
        Cancel batch …
      </ActionButton>
    </ScreenHead>
  );
}

function proposeCancel({ batchId, name }: Batch, reload: () => void): void {
  propose({
    title: `Cancel ${name || shortId(batchId)}`,
    text: "Commands that nobody has begun are cancelled; those that run finish. The batch then ends with failures.",
    preview: async () => {
      const { matched } = await call("GET /api/batches/:batchId/cancel", { params: { batchId } });
      return `${counted(matched, "command")} would be cancelled.`;
    },
    confirm: "Cancel batch",
    isDangerous: true,
    run: async (reason) => {
      const { canceled } = await call("POST /api/batches/:batchId/cancel", {
        params: { batchId },
        body: { ...(reason && { reason }) },
      });
      reload();
      return `${counted(canceled, "command")} cancelled.`;
    },
  });
}

function proposeSeal({ batchId, name }: Batch, reload: () => void): void {
  propose({
    title: `Seal ${name || shortId(batchId)}`,
    text: "A sealed batch takes no more commands, and can complete.",
    confirm: "Seal",
    run: async (reason) => {
      await call("POST /api/batches/:batchId/seal", {
        params: { batchId },
        body: { ...(reason && { reason }) },
      });
      reload();
      return "The batch is sealed.";
    },
  });
}

const counters = [
  ["Completed", "COMPLETED", (batch: Batch) => batch.completedCount],
  ["Failed", "FAILED", (batch: Batch) => batch.failedCount],
  ["Cancelled", "CANCELED", (batch: Batch) => batch.canceledCount],
  ["Troubleshooting", "IN_TROUBLESHOOTING_QUEUE", (batch: Batch) => batch.inTroubleshootingCount],
] as const;

function finishedOf(batch: Batch): number {
  return batch.completedCount + batch.failedCount + batch.canceledCount;
}

function BatchProgress({ batch }: { batch: Batch }) {
  const chosen = search.value.get("status");
  const open = batch.totalCount - finishedOf(batch) - batch.inTroubleshootingCount;
  return (
    <Panel title="Progress" note={<Pace batch={batch} />}>
      <div class="panel-body">
        <ProgressBar of={batch} isLarge />
      </div>
      <div class="counters">
        <Counter label="Total" count={batch.totalCount} />
        <Counter label="To do" count={open} />
        {counters.map(([label, status, pick]) => (
          <button
            key={status}
            type="button"
            class="counter"
            aria-pressed={chosen === status}
            onClick={() => setSearch({ status: chosen === status ? undefined : status })}
          >
            <strong>{formatCount(pick(batch))}</strong>
            <span>{label}</span>
          </button>
        ))}
      </div>
    </Panel>
  );
}

function Counter({ label, count }: { label: string; count: number }) {
  return (
    <div class="counter">
      <strong>{formatCount(count)}</strong>
      <span>{label}</span>
    </div>
  );
}

/** How fast the batch goes and when it will be over, from what this page has seen; else from its start on. */
function Pace({ batch }: { batch: Batch }) {
  const estimate = useEstimate(batch);
  const finished = finishedOf(batch);
  if (batch.completedAt !== null) return <>{pastPace(batch)}</>;
  if (batch.inTroubleshootingCount > 0 && finished + batch.inTroubleshootingCount >= batch.totalCount)
    return (
      <>
        blocked by <BlockedBy batch={batch} />
      </>
    );
  if (connection.value !== "live") return <>pace not known without live updates</>;
  if (estimate.endMs === undefined) return <>no progress at present</>;
  return (
    <>
      {formatRate(estimate.perSecond)} per second, ends about {formatClock(estimate.endMs)} (in{" "}
      {formatSpan(estimate.endMs - now.value)})
    </>
  );
}

/** Figures that nobody refreshes stand still, and those of before would leap to the next: neither is a pace. */
function useEstimate(batch: Batch): Estimate {
  const observed = useRef<readonly Observation[]>([]);
  const unwatched = useRef<Batch>(undefined);
  if (connection.value !== "live") {
    unwatched.current = batch;
    observed.current = [];
  }
  const latest = { atMs: now.value, finished: finishedOf(batch) };
  const estimate = estimateOf(observed.current, latest, batch.totalCount);
  if (batch !== unwatched.current) observed.current = estimate.observations;
  return estimate;
}

function pastPace({ startedAt, createdAt, completedAt, totalCount }: Batch): string {
  const spanMs = Math.max(1, Date.parse(completedAt ?? createdAt) - Date.parse(startedAt ?? createdAt));
  return `took ${formatSpan(spanMs)}, ${formatRate((totalCount / spanMs) * 1_000)} per second`;
}

function BatchTimeline({ batch }: { batch: Batch }) {
  const { batchId, status } = batch;
  const history = useData(`history ${batchId} ${status}`, (signal) =>
    call("GET /api/batches/:batchId/history", { params: { batchId }, signal }),
  );
  return (
    <Panel
      title="Timeline"
      note={
        <>
          created <Age of={batch.createdAt} />
        </>
      }
    >
      <WhenLoaded of={history}>
        {(events: Answer<"GET /api/batches/:batchId/history">) => <Timeline events={events} />}
      </WhenLoaded>
    </Panel>
  );
}
