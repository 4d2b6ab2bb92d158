import { type Answer, call } from "../api.ts";
import { GapStrip, StripLegend, type TickRange } from "../components/gap-strip.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { useData } from "../data.ts";
import { counted, formatCount } from "../format.ts";
import { search, setSearch } from "../router.ts";
import { ClaimPanel } from "./claim-panel.tsx";
import { FailedFiles } from "./failed-files.tsx";
import { GapPanel } from "./gap-panel.tsx";
import { type Run, RunChoice, useRuns, WithRun } from "./run-choice.tsx";

type Account = Answer<"GET /api/runs/:runId/ticks">[number];

const bucketCount = 200;

/** Every expected tick of a run, indexer by indexer. */
export function RunPanel() {
  const runs = useRuns();
  return (
    <>
      <Panel
        title="Ticks"
        note="every expected tick is in exactly one class"
        actions={<RunChoice runs={runs.data ?? []} chosen={runs.chosen} />}
      >
        <WithRun runs={runs}>{(run) => <Strips key={run.runId} run={run} />}</WithRun>
      </Panel>
      {runs.chosen && <RunDetails key={runs.chosen.runId} run={runs.chosen} />}
    </>
  );
}

function RunDetails({ run }: { run: Run }) {
  return (
    <>
      <div class="columns">
        <ClaimPanel run={run} />
        <GapPanel run={run} />
      </div>
      <FailedFiles run={run} />
    </>
  );
}

function rangeInAddress(): TickRange | undefined {
  const [from, to] = [search.value.get("from"), search.value.get("to")];
  return from === null || to === null ? undefined : { from: Number(from), to: Number(to) };
}

function zoom(range: TickRange | undefined): void {
  setSearch({ from: range && `${range.from}`, to: range && `${range.to}` });
}

function Strips({ run: { runId } }: { run: Run }) {
  const range = rangeInAddress();
  const accounts = useData(
    `ticks ${runId} ${range?.from} ${range?.to}`,
    (signal) =>
      call("GET /api/runs/:runId/ticks", {
        params: { runId },
        query: { buckets: bucketCount, ...range },
        signal,
      }),
    [`run:${runId}`],
  );
  return (
    <WhenLoaded of={accounts}>
      {(data) =>
        data.length === 0 ? (
          <Empty title="No indexer has worked on this run yet" />
        ) : (
          <div class="panel-body strips">
            <div class="strip-head">
              <StripLegend />
              <button
                type="button"
                class="button button-small"
                disabled={!range}
                onClick={() => zoom(undefined)}
              >
                Whole range
              </button>
            </div>
            {data.map((account) => (
              <StripRow key={account.indexerClass} account={account} />
            ))}
          </div>
        )
      }
    </WhenLoaded>
  );
}

function StripRow({ account }: { account: Account }) {
  const { indexerClass, buckets, expected, counts, endDeclared } = account;
  const [first, last] = [buckets[0]?.start ?? 0, buckets.at(-1)?.end ?? 0];
  return (
    <section class="strip-row" aria-label={indexerClass}>
      <div class="strip-title">
        <strong>{indexerClass}</strong>
        <span class="soft" data-indexed={counts.indexed}>
          {formatCount(counts.indexed)} of {counted(expected, "tick")} indexed{describeRest(counts)}
        </span>
      </div>
      <GapStrip label={indexerClass} buckets={buckets} zoom={zoom} />
      <div class="strip-ends faint">
        <span>{formatCount(first)}</span>
        <span>
          {formatCount(last)}
          {!endDeclared && " and on: the producer has not declared its end"}
        </span>
      </div>
    </section>
  );
}

const rest = [
  ["in_flight", "in flight"],
  ["failed", "failed"],
  ["pending", "in pending gaps"],
  ["permanent", "in permanent gaps"],
] as const;

function describeRest(counts: Account["counts"]): string {
  const parts = rest
    .filter(([name]) => counts[name] > 0)
    .map(([name, text]) => `${formatCount(counts[name])} ${text}`);
  return parts.length === 0 ? "" : `, ${parts.join(", ")}`;
}
