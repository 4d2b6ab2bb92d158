import { type Answer, call } from "../api.ts";
import { Panel } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useData } from "../data.ts";
import { formatCount, shortId } from "../format.ts";
import type { Run } from "./run-choice.tsx";

type Claim = Answer<"GET /api/runs/:runId/claims">[number];

/** Files of one instance of an indexer, by state. */
interface Instance {
  readonly indexerClass: string;
  readonly instanceId: string | null;
  readonly files: Readonly<Partial<Record<Claim["status"], number>>>;
}

const columns: readonly Column<Instance>[] = [
  {
    title: "Indexer",
    isWide: true,
    cell: ({ indexerClass, instanceId }) => (
      <span class="two-lines">
        {indexerClass}
        <small title={instanceId ?? undefined}>
          {instanceId === null ? "no instance" : <code>{shortId(instanceId)}</code>}
        </small>
      </span>
    ),
  },
  { title: "Claimed", isNumber: true, cell: ({ files }) => formatCount(files.claimed ?? 0) },
  { title: "Completed", isNumber: true, cell: ({ files }) => formatCount(files.completed ?? 0) },
  {
    title: "Failed",
    isNumber: true,
    cell: ({ files }) => (
      <span class={files.failed ? "error-text" : ""}>{formatCount(files.failed ?? 0)}</span>
    ),
  },
];

/** Who has claimed and completed how many files. */
export function ClaimPanel({ run: { runId } }: { run: Run }) {
  const claims = useData(
    `claims ${runId}`,
    (signal) => call("GET /api/runs/:runId/claims", { params: { runId }, signal }),
    [`run:${runId}`],
  );
  return (
    <Panel title="Claims by instance" note="files">
      <WhenLoaded of={claims}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No file is claimed yet" />
          ) : (
            <Table label="Claims" columns={columns} rows={byInstance(rows)} idOf={idOf} />
          )
        }
      </WhenLoaded>
    </Panel>
  );
}

function idOf({ indexerClass, instanceId }: Pick<Claim, "indexerClass" | "instanceId">): string {
  return `${indexerClass} ${instanceId}`;
}

function byInstance(claims: readonly Claim[]): readonly Instance[] {
  const instances = new Map<string, Instance>();
  for (const claim of claims) {
    const { indexerClass, instanceId, status, files } = claim;
    const before = instances.get(idOf(claim))?.files;
    instances.set(idOf(claim), { indexerClass, instanceId, files: { ...before, [status]: files } });
  }
  return [...instances.values()];
}
