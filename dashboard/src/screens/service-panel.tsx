import { propose } from "../actions.ts";
import { type Answer, call } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { Badge } from "../components/badge.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useData } from "../data.ts";
import { formatSpan } from "../format.ts";

type Manager = Answer<"GET /api/services">[number];
type Service = Manager["services"][number];

interface Row extends Service {
  readonly manager: Manager;
}

const verbs = {
  start: "The service starts as it is configured.",
  stop: "The service ends with its final flush, and stays stopped.",
  pause: "The service finishes what it is at, then does nothing until it is resumed.",
  resume: "The service goes on.",
  restart: "The service stops with its final flush, then starts again.",
} as const;

type Verb = keyof typeof verbs;

const verbsOf: Readonly<Record<Service["state"], readonly Verb[]>> = {
  RUNNING: ["pause", "stop", "restart"],
  PAUSED: ["resume", "stop"],
  STOPPED: ["start"],
  ERROR: ["start"],
};

/** Services of all processes, and the buttons that operate them. */
export function ServicePanel() {
  const managers = useData("services", (signal) => call("GET /api/services", { signal }), ["services"]);
  const rows = managers.data?.flatMap((manager) =>
    manager.services.map((service) => ({ ...service, manager })),
  );
  return (
    <Panel title="Services" note={managers.data && describeLost(managers.data)}>
      <WhenLoaded of={{ ...managers, data: rows }}>
        {(services) =>
          services.length === 0 ? (
            <Empty title="No service yet">
              <code>tallyman up</code> runs the services of a configuration.
            </Empty>
          ) : (
            <Table
              label="Services"
              columns={columnsOf(managers.reload)}
              rows={services}
              idOf={({ manager, name }) => `${manager.managerId} ${name}`}
            />
          )
        }
      </WhenLoaded>
    </Panel>
  );
}

function describeLost(managers: readonly Manager[]): string {
  const lost = managers.filter(({ isLost }) => isLost).length;
  return `${managers.length} ${managers.length === 1 ? "process" : "processes"}${lost > 0 ? `, ${lost} lost` : ""}`;
}

function columnsOf(reload: () => void): readonly Column<Row>[] {
  return [
    {
      title: "Service",
      isWide: true,
      cell: ({ name, className, error }) => (
        <span class="two-lines">
          {name}
          <small>{error === null ? className : <span class="error-text">{error}</span>}</small>
        </span>
      ),
    },
    { title: "State", cell: ServiceState },
    { title: "Since", isSecondary: true, isNumber: true, cell: ({ sinceMs }) => formatSpan(sinceMs) },
    { title: "Restarts", isSecondary: true, isNumber: true, cell: ({ restarts }) => restarts },
    { title: "Process", isSecondary: true, cell: ({ manager }) => `${manager.name} (${manager.pid})` },
    { title: "Action", cell: (row) => <ServiceActions row={row} reload={reload} /> },
  ];
}

function ServiceState({ state, isStarting, manager }: Row) {
  if (manager.isLost) return <span class="badge tone-bad">process lost</span>;
  return isStarting ? <span class="badge tone-busy">starting</span> : <Badge state={state} />;
}

function ServiceActions({ row, reload }: { row: Row; reload: () => void }) {
  if (row.manager.isLost)
    return (
      <ActionButton isSmall onClick={() => proposeForget(row.manager, reload)}>
        Forget process …
      </ActionButton>
    );
  return (
    <span class="buttons">
      {verbsOf[row.state].map((verb) => (
        <ActionButton
          key={verb}
          isSmall
          isDisabled={row.isStarting}
          label={`${capital(verb)} ${row.name}`}
          onClick={() => proposeVerb(verb, row, reload)}
        >
          {capital(verb)}
        </ActionButton>
      ))}
    </span>
  );
}

function capital(verb: Verb): string {
  return `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;
}

function proposeVerb(verb: Verb, { name, manager }: Row, reload: () => void): void {
  const title = `${capital(verb)} ${name}`;
  propose({
    title,
    text: verbs[verb],
    confirm: capital(verb),
    isDangerous: verb === "stop",
    run: async (reason) => {
      const { state } = await call(`POST /api/services/:service/${verb}`, {
        params: { service: name },
        body: { manager: manager.name, ...(reason && { reason }) },
      });
      reload();
      return `${name} is ${state.toLowerCase()}.`;
    },
  });
}

function proposeForget({ managerId, name }: Manager, reload: () => void): void {
  propose({
    title: `Forget ${name}`,
    text: "The process has not been heard of for long. Its services disappear from the list.",
    confirm: "Forget",
    run: async (reason) => {
      await call("DELETE /api/services/managers/:managerId", {
        params: { managerId },
        query: { ...(reason && { reason }) },
      });
      reload();
      return `${name} is forgotten.`;
    },
  });
}
