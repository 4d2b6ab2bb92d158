import type { ItemOf } from "../api.ts";
import { Age } from "../components/age.tsx";
import { Badge } from "../components/badge.tsx";
import { ProgressBar } from "../components/progress-bar.tsx";
import { type Column, Table } from "../components/table.tsx";
import { formatCount, shortId } from "../format.ts";
import { hrefOf, navigate } from "../router.ts";

/** A batch as the API shows it. */
export type Batch = ItemOf<"GET /api/batches">;

/** What lists of batches show. */
export const batchColumns: readonly Column<Batch>[] = [
  {
    title: "Batch",
    isWide: true,
    cell: ({ batchId, name, domain }) => (
      <span class="two-lines">
        <a href={`/batches/${batchId}`}>{name || shortId(batchId)}</a>
        <small>{domain}</small>
      </span>
    ),
  },
  { title: "State", isSecondary: true, cell: ({ status }) => <Badge state={status} /> },
  { title: "Progress", cell: (batch) => <ProgressBar of={batch} /> },
  { title: "Commands", isNumber: true, isSecondary: true, cell: ({ totalCount }) => formatCount(totalCount) },
  { title: "Blocked by", isSecondary: true, cell: (batch) => <BlockedBy batch={batch} /> },
  { title: "Created", isSecondary: true, cell: ({ createdAt }) => <Age of={createdAt} /> },
];

/** Where the commands are that keep a batch from ending. */
export function BlockedBy({ batch: { batchId, inTroubleshootingCount } }: { batch: Batch }) {
  if (inTroubleshootingCount === 0) return <span class="faint">–</span>;
  return (
    <a class="blocked" href={hrefOf("/troubleshooting", { batchId })}>
      {formatCount(inTroubleshootingCount)} in troubleshooting
    </a>
  );
}

/** Opens the screen of a batch. */
export function openBatch({ batchId }: Batch): void {
  navigate(`/batches/${batchId}`);
}

/** A short list of batches. */
export function BatchTable({ label, batches }: { label: string; batches: readonly Batch[] }) {
  return (
    <Table
      label={label}
      columns={batchColumns}
      rows={batches}
      idOf={({ batchId }) => batchId}
      open={openBatch}
    />
  );
}
