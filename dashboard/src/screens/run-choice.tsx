import type { ComponentChildren } from "preact";
import { call, type ItemOf } from "../api.ts";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { useData } from "../data.ts";
import { formatMoment } from "../format.ts";
import { search, setSearch } from "../router.ts";

/** A run as the API shows it. */
export type Run = ItemOf<"GET /api/runs">;

/** The newest runs, and the one that the address names; else the newest. */
export function useRuns() {
  const runs = useData("runs", (signal) => call("GET /api/runs", { signal }), ["overview"]);
  const named = search.value.get("run");
  const items = runs.data?.items;
  return { ...runs, data: items, chosen: items?.find(({ runId }) => runId === named) ?? items?.[0] };
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
            {runId} ({formatMoment(registeredAt)})
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
