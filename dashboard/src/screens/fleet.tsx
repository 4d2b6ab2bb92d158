import { type Answer, call } from "../api.ts";
import { Age } from "../components/age.tsx";
import { Badge } from "../components/badge.tsx";
import { Panel, ScreenHead } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useData } from "../data.ts";
import { JobPanel } from "./job-panel.tsx";
import { SegmentGrid } from "./segment-grid.tsx";
import { WorkerPanel } from "./worker-panel.tsx";

type Coordinator = Answer<"GET /api/coordinators">[number];

/** Who leads, who works, who owns what. */
export function FleetScreen() {
  const workers = useData(
    "workers",
    (signal) => call("GET /api/scheduler-workers", { query: { all: true }, signal }),
    ["workers"],
  );
  const owners = workers.data?.map(({ workerId }) => workerId) ?? [];
  return (
    <>
      <ScreenHead title="Fleet">
        <Leader />
      </ScreenHead>
      <div class="fleet-grid">
        <SegmentPanel owners={owners} />
        <div class="stack">
          <WorkerPanel workers={workers} owners={owners} />
          <CoordinatorPanel />
        </div>
      </div>
      <JobPanel />
    </>
  );
}

function Leader() {
  const overview = useData("leader", (signal) => call("GET /api/overview", { signal }), [
    "leader",
    "overview",
  ]);
  const leader = overview.data?.scheduler.leader;
  if (leader === undefined) return null;
  if (leader === null) return <span class="badge tone-bad">no coordinator leads</span>;
  return (
    <span data-leader={leader.coordinatorId}>
      <strong>{leader.coordinatorId}</strong> leads in epoch {leader.epoch},{" "}
      <span class="faint">
        elected <Age of={leader.electedAt} />
      </span>
    </span>
  );
}

function SegmentPanel({ owners }: { owners: readonly string[] }) {
  const map = useData("segments", (signal) => call("GET /api/segments", { signal }), ["segments"]);
  return (
    <Panel title="Segments" note="coloured by owner">
      <div class="panel-body">
        <WhenLoaded of={map}>
          {(data) => <SegmentGrid segments={"segmentCount" in data ? data.segments : []} owners={owners} />}
        </WhenLoaded>
      </div>
    </Panel>
  );
}

const coordinatorColumns: readonly Column<Coordinator>[] = [
  { title: "Coordinator", isWide: true, cell: ({ coordinatorId }) => coordinatorId },
  {
    title: "Role",
    cell: ({ isLeader }) => (isLeader ? <strong>leader</strong> : <span class="faint">stands by</span>),
  },
  { title: "State", cell: ({ status }) => <Badge state={status} /> },
  { title: "Address", isSecondary: true, cell: ({ host, port }) => <code>{`${host}:${port}`}</code> },
  { title: "Heartbeat", isSecondary: true, cell: ({ lastHeartbeatTime }) => <Age of={lastHeartbeatTime} /> },
];

function CoordinatorPanel() {
  const coordinators = useData("coordinators", (signal) => call("GET /api/coordinators", { signal }), [
    "leader",
  ]);
  return (
    <Panel title="Coordinators">
      <WhenLoaded of={coordinators}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No coordinator yet">
              Start one with <code>tallyman coordinator</code>.
            </Empty>
          ) : (
            <Table
              label="Coordinators"
              columns={coordinatorColumns}
              rows={rows}
              idOf={({ coordinatorId }) => coordinatorId}
            />
          )
        }
      </WhenLoaded>
    </Panel>
  );
}
