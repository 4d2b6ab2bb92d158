import { call, type ItemOf } from "../api.ts";
import { Age } from "../components/age.tsx";
import { TextFilter } from "../components/filters.tsx";
import { Panel, ScreenHead } from "../components/panel.tsx";
import { Empty } from "../components/states.tsx";
import { type Column, PagedTable } from "../components/table.tsx";
import { usePages } from "../data.ts";
import { formatCount, formatFields, formatMoment, formatWord, shortId } from "../format.ts";
import { search } from "../router.ts";

type Action = ItemOf<"GET /api/actions">;
type Event = ItemOf<"GET /api/audit">;

const rowsPerPage = 50;

/** Who did what, when, to how many; and what happened to commands and batches. */
export function AuditScreen() {
  const isEvents = search.value.get("view") === "events";
  return (
    <>
      <ScreenHead title="Audit">
        <nav class="tabs" aria-label="Kinds of entries">
          <a href="/audit" aria-current={isEvents ? undefined : "true"}>
            Operators
          </a>
          <a href="/audit?view=events" aria-current={isEvents ? "true" : undefined}>
            Commands and batches
          </a>
        </nav>
      </ScreenHead>
      {isEvents ? <Events /> : <Actions />}
    </>
  );
}

const actionColumns: readonly Column<Action>[] = [
  { title: "When", cell: ({ createdAt }) => <Moment of={createdAt} /> },
  { title: "Who", cell: ({ actor }) => actor },
  { title: "What", cell: ({ action }) => <code>{action}</code> },
  { title: "Changed", isNumber: true, cell: ({ changed }) => formatCount(changed) },
  {
    title: "Target",
    isWide: true,
    isSecondary: true,
    cell: ({ target }) => formatFields(target),
  },
  {
    title: "Reason",
    isWide: true,
    isSecondary: true,
    cell: ({ reason }) => reason ?? <span class="faint">–</span>,
  },
];

function Moment({ of }: { of: string }) {
  return (
    <span class="two-lines">
      {formatMoment(of)}
      <small>
        <Age of={of} />
      </small>
    </span>
  );
}

function Actions() {
  const actor = search.value.get("actor") ?? undefined;
  const action = search.value.get("action") ?? undefined;
  const pages = usePages<Action>(
    `actions ${actor} ${action}`,
    (cursor, signal) =>
      call("GET /api/actions", {
        query: {
          limit: rowsPerPage,
          ...(actor && { actor }),
          ...(action && { action }),
          ...(cursor && { cursor: Number(cursor) }),
        },
        signal,
      }),
    ["actions"],
  );
  return (
    <Panel
      title="What operators did"
      actions={
        <>
          <TextFilter name="actor" label="Who" isFirst />
          <TextFilter name="action" label="What" />
        </>
      }
    >
      <PagedTable
        label="Actions of operators"
        columns={actionColumns}
        pages={pages}
        idOf={({ actionId }) => `${actionId}`}
        empty={<Empty title="No entry">What operators do is written down here.</Empty>}
      />
    </Panel>
  );
}

const eventColumns: readonly Column<Event>[] = [
  { title: "When", cell: ({ createdAt }) => <Moment of={createdAt} /> },
  { title: "What", cell: ({ eventType }) => formatWord(eventType) },
  { title: "Domain", isSecondary: true, cell: ({ domain }) => domain },
  {
    title: "Batch",
    cell: ({ batchId }) => (batchId ? <a href={`/batches/${batchId}`}>{shortId(batchId)}</a> : "–"),
  },
  {
    title: "Command",
    isSecondary: true,
    cell: ({ commandId }) => (commandId ? <code>{shortId(commandId)}</code> : "–"),
  },
  {
    title: "Details",
    isWide: true,
    isSecondary: true,
    cell: ({ details }) => formatFields(details),
  },
];

function Events() {
  const domain = search.value.get("domain") ?? undefined;
  const eventType = search.value.get("eventType") ?? undefined;
  const pages = usePages<Event>(
    `events ${domain} ${eventType}`,
    (cursor, signal) =>
      call("GET /api/audit", {
        query: {
          limit: rowsPerPage,
          ...(domain && { domain }),
          ...(eventType && { eventType }),
          ...(cursor && { cursor: Number(cursor) }),
        },
        signal,
      }),
    ["overview"],
  );
  return (
    <Panel
      title="What happened to commands and batches"
      actions={
        <>
          <TextFilter name="domain" label="Domain" isFirst />
          <TextFilter name="eventType" label="What" />
        </>
      }
    >
      <PagedTable
        label="Events of commands and batches"
        columns={eventColumns}
        pages={pages}
        idOf={({ auditId }) => `${auditId}`}
        empty={<Empty title="No entry" />}
      />
    </Panel>
  );
}
