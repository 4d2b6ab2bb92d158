import { type Answer, call } from "../api.ts";
import { Badge } from "../components/badge.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useData } from "../data.ts";
import { formatCount } from "../format.ts";
import type { Run } from "./run-choice.tsx";

type Claim = Answer<"GET /api/runs/:runId/claims">[number];

const columns: readonly Column<Claim>[] = [
  {
    title: "Indexer",
    isWide: true,
    cell: ({ indexerClass, instanceId }) => (
      <span class="two-lines">
        {indexerClass}
        <small>{instanceId ?? "no instance"}</small>
      </span>
    ),
  },
  { title: "State", cell: ({ status }) => <Badge state={status} /> },
  { title: "Files", isNumber: true, cell: ({ files }) => formatCount(files) },
];

/** Who has claimed and completed how many files. */
export function ClaimPanel({ run: { runId } }: { run: Run }) {
  const claims = useData(
    `claims ${runId}`,
    (signal) => call("GET /api/runs/:runId/claims", { params: { runId }, signal }),
    [`run:${runId}`],
  );
  return (
    <Panel title="Claims by instance">
      <WhenLoaded of={claims}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No file is claimed yet" />
          ) : (
            <Table
              label="Claims"
              columns={columns}
              rows={rows}
              idOf={({ indexerClass, status, instanceId }) => `${indexerClass} ${status} ${instanceId}`}
            />
          )
        }
      </WhenLoaded>
    </Panel>
  );
}
