import { propose } from "../actions.ts";
import { type Answer, call } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { Badge } from "../components/badge.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useData } from "../data.ts";
import { formatCount, formatRate } from "../format.ts";
import { hrefOf } from "../router.ts";

type Domain = Answer<"GET /api/domains">[number];

const columns: readonly Column<Domain>[] = [
  {
    title: "Domain",
    isWide: true,
    cell: ({ domain }) => <a href={hrefOf("/batches", { domain })}>{domain}</a>,
  },
  { title: "State", cell: ({ isPaused }) => <Badge state={isPaused ? "PAUSED" : "RUNNING"} /> },
  { title: "Ready", isNumber: true, cell: ({ ready }) => formatCount(ready) },
  { title: "Waiting", isNumber: true, isSecondary: true, cell: ({ waiting }) => formatCount(waiting) },
  {
    title: "In progress",
    isNumber: true,
    isSecondary: true,
    cell: ({ inProgress }) => formatCount(inProgress),
  },
  { title: "Troubleshooting", isNumber: true, cell: TroubleshootingCount },
  {
    title: "Completed/s",
    isNumber: true,
    isSecondary: true,
    cell: ({ completedPerSecond }) => formatRate(completedPerSecond),
  },
  {
    title: "Failed/s",
    isNumber: true,
    isSecondary: true,
    cell: ({ failedPerSecond }) => formatRate(failedPerSecond),
  },
];

/** Domains with their backlog, and the switch that pauses one. */
export function DomainPanel() {
  const domains = useData("domains", (signal) => call("GET /api/domains", { signal }), ["overview"]);
  const withAction: readonly Column<Domain>[] = [
    ...columns,
    { title: "Action", cell: (domain) => <PauseButton domain={domain} reload={domains.reload} /> },
  ];
  return (
    <Panel title="Domains" id="domains">
      <WhenLoaded of={domains}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No domain yet">A domain appears with its first command.</Empty>
          ) : (
            <Table label="Domains" columns={withAction} rows={rows} idOf={({ domain }) => domain} />
          )
        }
      </WhenLoaded>
    </Panel>
  );
}

function TroubleshootingCount({ domain, inTroubleshooting }: Domain) {
  if (inTroubleshooting === 0) return <span class="faint">0</span>;
  return (
    <a class="blocked" href={hrefOf("/troubleshooting", { domain })}>
      {formatCount(inTroubleshooting)}
    </a>
  );
}

function PauseButton({ domain: { domain, isPaused }, reload }: { domain: Domain; reload: () => void }) {
  const change = () =>
    propose({
      title: `${isPaused ? "Resume" : "Pause"} ${domain}`,
      text: isPaused
        ? "Workers get commands of this domain again."
        : "Workers get no more commands of this domain; those that run finish.",
      confirm: isPaused ? "Resume" : "Pause",
      run: async (reason) => {
        const key = isPaused ? "POST /api/domains/:domain/resume" : "POST /api/domains/:domain/pause";
        await call(key, { params: { domain }, body: { ...(reason && { reason }) } });
        reload();
        return `${domain} is ${isPaused ? "running again" : "paused"}.`;
      },
    });
  return (
    <ActionButton isSmall label={`${isPaused ? "Resume" : "Pause"} ${domain}`} onClick={change}>
      {isPaused ? "Resume" : "Pause"}
    </ActionButton>
  );
}
