import { call, type ItemOf } from "../api.ts";
import { Age } from "../components/age.tsx";
import { Badge } from "../components/badge.tsx";
import { ChoiceFilter } from "../components/filters.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty } from "../components/states.tsx";
import { type Column, PagedTable } from "../components/table.tsx";
import { usePages } from "../data.ts";
import { formatWord, shortId } from "../format.ts";
import { search } from "../router.ts";
import type { Batch } from "./batch-table.tsx";
import { CommandLink, commandKey, openCommand, openCommandKey } from "./command-inspector.tsx";

/** A command as the API shows it. */
export type Command = ItemOf<"GET /api/tsq">;

const statuses = [
  "PENDING",
  "IN_PROGRESS",
  "COMPLETED",
  "FAILED",
  "CANCELED",
  "IN_TROUBLESHOOTING_QUEUE",
] as const;
const rowsPerPage = 50;

const columns: readonly Column<Command>[] = [
  {
    title: "Command",
    cell: (command) => <CommandLink command={command}>{shortId(command.commandId)}</CommandLink>,
  },
  { title: "Type", cell: ({ commandType }) => commandType },
  { title: "State", cell: ({ status }) => <Badge state={status} /> },
  { title: "Attempts", isNumber: true, isSecondary: true, cell: ({ attempts }) => attempts },
  {
    title: "Error",
    isWide: true,
    isSecondary: true,
    cell: ({ errorMessage }) => <span class="error-text">{errorMessage}</span>,
  },
  { title: "Finished", isSecondary: true, cell: ({ finishedAt }) => <Age of={finishedAt} /> },
];

/** Commands of a batch by state. */
export function BatchCommands({ batch: { batchId } }: { batch: Batch }) {
  const status = statuses.find((each) => each === search.value.get("status"));
  const pages = usePages<Command>(
    `commands ${batchId} ${status}`,
    (cursor, signal) =>
      call("GET /api/batches/:batchId/commands", {
        params: { batchId },
        query: { limit: rowsPerPage, ...(status && { status }), ...(cursor && { cursor }) },
        signal,
      }),
    [`batch:${batchId}`],
  );
  const choices = statuses.map((each) => [each, formatWord(each)] as const);
  return (
    <Panel
      title="Commands"
      note="in the order in which they were sent"
      actions={<ChoiceFilter name="status" label="State" choices={choices} isFirst />}
    >
      <PagedTable<Command>
        label="Commands"
        columns={columns}
        pages={pages}
        idOf={commandKey}
        open={openCommand}
        openId={openCommandKey.value}
        empty={<Empty title="No command in this state" />}
      />
    </Panel>
  );
}
