import { propose } from "../actions.ts";
import { call, type ItemOf } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { Age } from "../components/age.tsx";
import { Panel } from "../components/panel.tsx";
import { type Column, PagedTable } from "../components/table.tsx";
import { usePages } from "../data.ts";
import { counted, formatCount } from "../format.ts";
import { chosenClass } from "./gap-panel.tsx";
import type { Run } from "./run-choice.tsx";

type FailedFile = ItemOf<"GET /api/runs/:runId/failed-files">;

const rowsPerPage = 20;

const columns: readonly Column<FailedFile>[] = [
  {
    title: "Ticks",
    cell: ({ tickStart, tickEnd }) => `${formatCount(tickStart)} – ${formatCount(tickEnd)}`,
  },
  { title: "Error", isWide: true, cell: ({ error }) => <span class="error-text">{error}</span> },
  { title: "Attempts", isNumber: true, isSecondary: true, cell: ({ attempts }) => attempts },
  { title: "Failed", isSecondary: true, cell: ({ failedAt }) => <Age of={failedAt} /> },
];

/** Files that the chosen indexer gave up; not there when there are none. */
export function FailedFiles({ run }: { run: Run }) {
  const indexerClass = chosenClass(run);
  return indexerClass === undefined ? null : (
    <FailedFilesOf key={indexerClass} runId={run.runId} indexerClass={indexerClass} />
  );
}

function FailedFilesOf({ runId, indexerClass }: { runId: string; indexerClass: string }) {
  const pages = usePages<FailedFile>(
    `failed files ${runId} ${indexerClass}`,
    (cursor, signal) =>
      call("GET /api/runs/:runId/failed-files", {
        params: { runId },
        query: { indexerClass, limit: rowsPerPage, ...(cursor && { cursor }) },
        signal,
      }),
    [`run:${runId}`],
  );
  if (!pages.items || pages.items.length === 0) return null;
  return (
    <Panel
      title="Failed files"
      note={indexerClass}
      actions={
        <ActionButton onClick={() => proposeRetry(runId, indexerClass, pages.reload)}>
          Retry all …
        </ActionButton>
      }
    >
      <PagedTable
        label="Failed files"
        columns={columns}
        pages={pages}
        idOf={({ filename }) => filename}
        empty={null}
      />
    </Panel>
  );
}

function proposeRetry(runId: string, indexerClass: string, reload: () => void): void {
  const params = { runId };
  propose({
    title: `Retry failed files of ${indexerClass}`,
    text: "The indexer takes up the files again that it gave up, where it left off.",
    preview: async () => {
      const claims = await call("GET /api/runs/:runId/claims", { params });
      const failed = claims.filter(
        (claim) => claim.indexerClass === indexerClass && claim.status === "failed",
      );
      return `${counted(sumOf(failed), "file")} would be tried again.`;
    },
    confirm: "Retry",
    run: async (reason) => {
      const { files } = await call("POST /api/runs/:runId/retry", {
        params,
        body: { indexerClass, ...(reason && { reason }) },
      });
      reload();
      return `${counted(files, "file")} handed back to ${indexerClass}.`;
    },
  });
}

function sumOf(claims: readonly { readonly files: number }[]): number {
  return claims.reduce((sum, { files }) => sum + files, 0);
}
