import { call, type ItemOf } from "../api.ts";
import { Age } from "../components/age.tsx";
import { Badge } from "../components/badge.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty } from "../components/states.tsx";
import { type Column, PagedTable } from "../components/table.tsx";
import { usePages } from "../data.ts";
import { formatCount } from "../format.ts";
import { search, setSearch } from "../router.ts";
import type { Run } from "./run-choice.tsx";

type Gap = ItemOf<"GET /api/runs/:runId/gaps">;

const rowsPerPage = 10;

const columns: readonly Column<Gap>[] = [
  {
    title: "Ticks",
    isWide: true,
    cell: ({ gapStartTick, gapEndTick }) => (
      <button
        type="button"
        class="button-link"
        onClick={() => setSearch({ from: `${gapStartTick}`, to: `${gapEndTick}` })}
      >
        {formatCount(gapStartTick)} – {formatCount(gapEndTick)}
      </button>
    ),
  },
  { title: "State", cell: ({ status }) => <Badge state={status} /> },
  { title: "Found", cell: ({ firstDetected }) => <Age of={firstDetected} /> },
];

/** Which of a run's indexers is looked at, from the address; else the first. */
export function chosenClass({ indexerClasses }: Run): string | undefined {
  return indexerClasses.find((each) => each === search.value.get("indexer")) ?? indexerClasses[0];
}

/** Ranges that no known file covers. */
export function GapPanel({ run }: { run: Run }) {
  const indexerClass = chosenClass(run);
  return (
    <Panel title="Gaps" note="ranges that no known file covers" actions={<ClassChoice run={run} />}>
      {indexerClass === undefined ? (
        <Empty title="No indexer yet" />
      ) : (
        <GapTable key={indexerClass} runId={run.runId} indexerClass={indexerClass} />
      )}
    </Panel>
  );
}

function ClassChoice({ run }: { run: Run }) {
  return (
    <label class="filter">
      <span>Indexer</span>
      <select
        name="indexer"
        value={chosenClass(run)}
        onChange={({ currentTarget }) => setSearch({ indexer: currentTarget.value })}
      >
        {run.indexerClasses.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function GapTable({ runId, indexerClass }: { runId: string; indexerClass: string }) {
  const pages = usePages<Gap>(
    `gaps ${runId} ${indexerClass}`,
    (cursor, signal) =>
      call("GET /api/runs/:runId/gaps", {
        params: { runId },
        query: { indexerClass, limit: rowsPerPage, ...(cursor && { cursor: Number(cursor) }) },
        signal,
      }),
    [`run:${runId}`],
  );
  return (
    <PagedTable
      label="Gaps"
      columns={columns}
      pages={pages}
      idOf={({ gapStartTick }) => `${gapStartTick}`}
      empty={<Empty title="No gaps">Every expected tick is covered by a file.</Empty>}
    />
  );
}
