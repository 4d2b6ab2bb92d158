import { useState } from "preact/hooks";
import { type Answer, call } from "../api.ts";
import { Age } from "../components/age.tsx";
import { Panel, ScreenHead } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Column, PagedTable, Table } from "../components/table.tsx";
import { useData, usePages } from "../data.ts";
import { counted, formatCount, shortId } from "../format.ts";
import { search, setSearch } from "../router.ts";
import type { Command } from "./batch-commands.tsx";
import {
  CommandInspector,
  CommandLink,
  commandKey,
  openCommand,
  openCommandKey,
} from "./command-inspector.tsx";
import { DomainFilter } from "./domain-filter.tsx";
import { RepairButtons, type RepairTarget } from "./tsq-actions.tsx";

type Group = Answer<"GET /api/tsq/groups">[number];
type Filter = NonNullable<RepairTarget["matching"]>;

const rowsPerPage = 50;

/** Commands that need a person, by kind of error. */
export function TroubleshootingScreen() {
  const filter = filterOf(search.value);
  const { errorSignature: _signature, commandType: _type, ...wide } = filter;
  const key = JSON.stringify(wide);
  const groups = useData(`groups ${key}`, (signal) => call("GET /api/tsq/groups", { query: wide, signal }), [
    "tsq",
  ]);
  return (
    <>
      <ScreenHead title="Troubleshooting">
        <BatchChip batchId={filter.batchId} />
        <DomainFilter />
      </ScreenHead>
      <Panel title="By kind of error" note={groups.data && noteOf(groups.data)}>
        <WhenLoaded of={groups}>{(data) => <GroupTable groups={data} filter={filter} />}</WhenLoaded>
      </Panel>
      <MatchingCommands key={JSON.stringify(filter)} filter={filter} />
      <CommandInspector />
    </>
  );
}

function filterOf(parameters: URLSearchParams): Filter {
  const names = ["domain", "commandType", "errorSignature", "batchId"] as const;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = parameters.get(name);
      return value ? [[name, value]] : [];
    }),
  );
}

function noteOf(groups: readonly Group[]): string {
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  return `${counted(total, "command")} in ${counted(groups.length, "group")}`;
}

function BatchChip({ batchId }: { batchId: string | undefined }) {
  if (batchId === undefined) return null;
  return (
    <span>
      of batch <a href={`/batches/${batchId}`}>{shortId(batchId)}</a>{" "}
      <button type="button" class="button button-small" onClick={() => setSearch({ batchId: undefined })}>
        Show all batches
      </button>
    </span>
  );
}

const groupColumns: readonly Column<Group>[] = [
  {
    title: "Error",
    isWide: true,
    cell: (group) => (
      <span class="two-lines">
        <button
          type="button"
          class="button-link error-text"
          aria-expanded={isOpen(group)}
          onClick={() => toggle(group)}
        >
          {group.errorSignature || "no message"}
        </button>
        <small>{group.example}</small>
      </span>
    ),
  },
  { title: "Command", isSecondary: true, cell: ({ domain, commandType }) => `${domain} / ${commandType}` },
  { title: "Count", isNumber: true, cell: ({ count }) => formatCount(count) },
  { title: "Oldest", isSecondary: true, cell: ({ oldest }) => <Age of={oldest} /> },
];

function isOpen({ errorSignature, commandType }: Group): boolean {
  return (
    search.value.get("errorSignature") === errorSignature && search.value.get("commandType") === commandType
  );
}

function toggle(group: Group): void {
  const { domain, commandType, errorSignature } = group;
  setSearch(
    isOpen(group)
      ? { commandType: undefined, errorSignature: undefined }
      : { domain, commandType, errorSignature },
  );
}

function GroupTable({ groups, filter }: { groups: readonly Group[]; filter: Filter }) {
  if (groups.length === 0)
    return (
      <Empty title="Nothing waits for you">
        {Object.keys(filter).length > 0
          ? "No command matches the filter."
          : "No command is in troubleshooting."}
      </Empty>
    );
  return (
    <Table
      label="Kinds of error"
      columns={groupColumns}
      rows={groups}
      idOf={(group) => JSON.stringify([group.domain, group.commandType, group.errorSignature])}
      open={toggle}
      openId={JSON.stringify([filter.domain, filter.commandType, filter.errorSignature])}
    />
  );
}

const commandColumns: readonly Column<Command>[] = [
  {
    title: "Command",
    cell: (command) => <CommandLink command={command}>{shortId(command.commandId)}</CommandLink>,
  },
  { title: "Type", isSecondary: true, cell: ({ domain, commandType }) => `${domain} / ${commandType}` },
  {
    title: "Error",
    isWide: true,
    cell: ({ errorMessage }) => <span class="error-text">{errorMessage}</span>,
  },
  { title: "Attempts", isNumber: true, isSecondary: true, cell: ({ attempts }) => attempts },
  { title: "Since", isSecondary: true, cell: ({ troubleshootingAt }) => <Age of={troubleshootingAt} /> },
];

function MatchingCommands({ filter }: { filter: Filter }) {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const pages = usePages<Command>(
    JSON.stringify(filter),
    (cursor, signal) =>
      call("GET /api/tsq", {
        query: { ...filter, limit: rowsPerPage, ...(cursor && { cursor }) },
        signal,
      }),
    ["tsq"],
  );
  const untick = () => setTicked(new Set());
  const done = () => {
    untick();
    void pages.reload();
  };
  return (
    <Panel
      title={filter.errorSignature === undefined ? "All commands, oldest first" : "Commands of this group"}
    >
      {ticked.size > 0 ? (
        <TickedBar ticked={ticked} shown={pages.items ?? []} untick={untick} done={done} />
      ) : (
        <MatchingBar filter={filter} hasItems={(pages.items?.length ?? 0) > 0} done={done} />
      )}
      <PagedTable<Command>
        label="Commands in troubleshooting"
        columns={commandColumns}
        pages={pages}
        idOf={commandKey}
        open={openCommand}
        openId={openCommandKey.value}
        selection={{ ids: ticked, change: setTicked }}
        empty={<Empty title="No command matches" />}
      />
    </Panel>
  );
}

/** Acts on all that match, shown or not. */
function MatchingBar({ filter, hasItems, done }: { filter: Filter; hasItems: boolean; done: () => void }) {
  return (
    <div class="action-bar">
      <strong>All matching</strong>
      <RepairButtons target={{ matching: filter }} isDisabled={!hasItems} done={done} />
    </div>
  );
}

interface TickedBarProps {
  /** The keys of the ticked rows. */
  readonly ticked: ReadonlySet<string>;
  readonly shown: readonly Command[];
  untick(): void;
  done(): void;
}

/** Acts on the ticked rows that are still there; when none is, on nothing, until somebody has seen that. */
function TickedBar({ ticked, shown, untick, done }: TickedBarProps) {
  const chosen = shown.filter((command) => ticked.has(commandKey(command)));
  const domains = new Set(chosen.map(({ domain }) => domain));
  const [domain = ""] = domains;
  const commandIds = chosen.map(({ commandId }) => commandId);
  const goneCount = ticked.size - chosen.length;
  return (
    <div class="action-bar">
      <strong>{formatCount(chosen.length)} selected</strong>
      <RepairButtons target={{ domain, commandIds }} isDisabled={domains.size !== 1} done={done} />
      {domains.size > 1 && <span class="soft">Select commands of one domain.</span>}
      {goneCount > 0 && (
        <span class="soft" role="status">
          {counted(goneCount, "selected command is", "selected commands are")} no longer here.
        </span>
      )}
      <button type="button" class="button-link" onClick={untick}>
        Select none
      </button>
    </div>
  );
}
