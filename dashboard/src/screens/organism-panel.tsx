import { Panel } from "../components/panel.tsx";
import { Empty } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { counted, formatCount } from "../format.ts";
import { search } from "../router.ts";
import { openOrganism } from "./organism-inspector.tsx";
import type { Organism } from "./world-canvas.tsx";

const rowsMax = 12;

const columns: readonly Column<Organism>[] = [
  {
    title: "Organism",
    isWide: true,
    cell: ({ organismId }) => (
      <button type="button" class="button-link" onClick={() => openOrganism(organismId)}>
        {organismId}
      </button>
    ),
  },
  { title: "Energy", isNumber: true, cell: ({ energy }) => formatCount(energy) },
  { title: "Age", isNumber: true, cell: ({ age }) => formatCount(age) },
  { title: "Place", isNumber: true, cell: ({ x, y }) => `${x}, ${y}` },
];

/** The strongest organisms at the tick; each opens its life. */
export function OrganismPanel({ organisms }: { organisms: readonly Organism[] }) {
  const strongest = [...organisms].sort((a, b) => b.energy - a.energy).slice(0, rowsMax);
  return (
    <Panel title="Strongest organisms" note={`of ${counted(organisms.length, "organism")} at this tick`}>
      {strongest.length === 0 ? (
        <Empty title="Nobody lives at this tick" />
      ) : (
        <Table
          label="Strongest organisms"
          columns={columns}
          rows={strongest}
          idOf={({ organismId }) => `${organismId}`}
          open={({ organismId }) => openOrganism(organismId)}
          openId={search.value.get("organism") ?? undefined}
        />
      )}
    </Panel>
  );
}
