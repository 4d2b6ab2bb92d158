import type { ComponentChildren } from "preact";
import { call, type ItemOf } from "../api.ts";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { useData } from "../data.ts";
import { formatMoment } from "../format.ts";
import { search, setSearch } from "../router.ts";

/** A run as the API shows it. */
export type Run = ItemOf<"GET /api/runs">;

const runsShown = 20;

/** The newest runs, and the one that the address names, however old; else the newest. */
export function useRuns() {
  const named = search.value.get("run");
  const runs = useData("runs", (signal) => newestRuns(named, signal), ["overview"]);
  const { data } = runs;
  return { ...runs, chosen: data?.find(({ runId }) => runId === named) ?? data?.[0] };
}

async function newestRuns(named: string | null, signal: AbortSignal): Promise<readonly Run[]> {
  const { items } = await call("GET /api/runs", { query: { limit: runsShown }, signal });
  if (named === null || items.some(({ runId }) => runId === named)) return items;
  return [...items, await call("GET /api/runs/:runId", { params: { runId: named }, signal })];
}

/** Chooses a run; the address keeps it. */
export function RunChoice({ runs, chosen }: { runs: readonly Run[]; chosen: Run | undefined }) {
  return (
    <label class="filter">
      <span>Run</span>
      <select
        name="run"
        value={chosen?.runId}
        data-filter
        onChange={({ currentTarget }) =>
          setSearch({
            run: currentTarget.value,
            tick: undefined,
            from: undefined,
            to: undefined,
            organism: undefined,
          })
        }
      >
        {runs.map(({ runId, registeredAt }) => (
          <option key={runId} value={runId}>
            {formatMoment(registeredAt)} · {runId}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Shows something about the chosen run, or that there is none. */
export function WithRun({
  runs,
  children,
}: {
  runs: ReturnType<typeof useRuns>;
  children: (run: Run) => ComponentChildren;
}) {
  return (
    <WhenLoaded of={runs}>
      {() =>
        runs.chosen ? (
          children(runs.chosen)
        ) : (
          <Empty title="No run yet">A run appears when the first indexer works on it.</Empty>
        )
      }
    </WhenLoaded>
  );
}
