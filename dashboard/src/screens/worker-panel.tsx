import { propose } from "../actions.ts";
import { type Answer, call } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { Age } from "../components/age.tsx";
import { Badge } from "../components/badge.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import type { Loaded } from "../data.ts";
import { counted } from "../format.ts";
import { ownerStyle } from "../owner-colours.ts";

type Worker = Answer<"GET /api/scheduler-workers">[number];

interface WorkerPanelProps {
  readonly workers: Loaded<readonly Worker[]>;
  readonly owners: readonly string[];
}

/** Scheduler workers, with the switch that drains one. */
export function WorkerPanel({ workers, owners }: WorkerPanelProps) {
  const columns = columnsOf(owners, workers.reload);
  return (
    <Panel title="Scheduler workers">
      <WhenLoaded of={workers}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No scheduler worker yet">
              Start one with <code>tallyman scheduler-worker</code>.
            </Empty>
          ) : (
            <Table
              label="Scheduler workers"
              columns={columns}
              rows={rows}
              idOf={({ workerId }) => workerId}
            />
          )
        }
      </WhenLoaded>
    </Panel>
  );
}

function columnsOf(owners: readonly string[], reload: () => void): readonly Column<Worker>[] {
  return [
    {
      title: "Worker",
      isWide: true,
      cell: ({ workerId }) => (
        <span>
          <span class="owner-mark" style={ownerStyle(owners, workerId)} />
          {workerId}
        </span>
      ),
    },
    { title: "State", cell: ({ status }) => <Badge state={status} /> },
    { title: "Segments", isNumber: true, cell: ({ assignedSegments }) => assignedSegments.length },
    { title: "Cap", isNumber: true, isSecondary: true, cell: ({ cap }) => cap ?? "none" },
    {
      title: "Heartbeat",
      isSecondary: true,
      cell: ({ lastHeartbeatTime }) => <Age of={lastHeartbeatTime} />,
    },
    {
      title: "Action",
      cell: (worker) => (
        <ActionButton
          isSmall
          label={`Drain ${worker.workerId}`}
          isDisabled={worker.status !== "ONLINE"}
          onClick={() => proposeDrain(worker, reload)}
        >
          Drain …
        </ActionButton>
      ),
    },
  ];
}

function proposeDrain({ workerId, assignedSegments }: Worker, reload: () => void): void {
  propose({
    title: `Drain ${workerId}`,
    text: "The worker finishes on its segments and gives them back; it gets no new ones.",
    preview: async () => `${counted(assignedSegments.length, "segment")} would move to other workers.`,
    confirm: "Drain",
    run: async (reason) => {
      await call("POST /api/scheduler-workers/drain", { query: { workerId, ...(reason && { reason }) } });
      reload();
      return `${workerId} is draining.`;
    },
  });
}
