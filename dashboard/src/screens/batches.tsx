import { call } from "../api.ts";
import { ChoiceFilter } from "../components/filters.tsx";
import { Panel, ScreenHead } from "../components/panel.tsx";
import { Empty } from "../components/states.tsx";
import { PagedTable } from "../components/table.tsx";
import { usePages } from "../data.ts";
import { formatWord } from "../format.ts";
import { search } from "../router.ts";
import { type Batch, batchColumns, openBatch } from "./batch-table.tsx";
import { DomainFilter } from "./domain-filter.tsx";

const statuses = ["PENDING", "IN_PROGRESS", "COMPLETED", "COMPLETED_WITH_FAILURES"] as const;
const rowsPerPage = 50;

/** All batches, newest first. */
export function BatchesScreen() {
  const domain = search.value.get("domain") ?? undefined;
  const status = statuses.find((each) => each === search.value.get("status"));
  const pages = usePages<Batch>(
    `batches ${domain} ${status}`,
    (cursor, signal) =>
      call("GET /api/batches", {
        query: {
          limit: rowsPerPage,
          ...(domain && { domain }),
          ...(status && { status }),
          ...(cursor && { cursor }),
        },
        signal,
      }),
    ["batches", "running"],
  );
  return (
    <>
      <ScreenHead title="Batches">
        <DomainFilter />
        <ChoiceFilter
          name="status"
          label="State"
          choices={statuses.map((each) => [each, formatWord(each)] as const)}
        />
      </ScreenHead>
      <Panel title="Newest first">
        <PagedTable
          label="Batches"
          columns={batchColumns}
          pages={pages}
          idOf={({ batchId }) => batchId}
          open={openBatch}
          empty={<NoBatches isFiltered={domain !== undefined || status !== undefined} />}
        />
      </Panel>
    </>
  );
}

function NoBatches({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Empty title="No batch matches">
        <a href="/batches">Show all batches</a>
      </Empty>
    );
  return (
    <Empty title="No batch yet">
      Create one with <code>tallyman batch create</code>, the library or the API.
    </Empty>
  );
}
