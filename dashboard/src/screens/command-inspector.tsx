import { computed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { type Answer, call } from "../api.ts";
import { Age } from "../components/age.tsx";
import { Badge } from "../components/badge.tsx";
import { Facts } from "../components/facts.tsx";
import { Inspector } from "../components/inspector.tsx";
import { Payload } from "../components/payload.tsx";
import { WhenLoaded } from "../components/states.tsx";
import { useData } from "../data.ts";
import { shortId } from "../format.ts";
import { search, setSearch } from "../router.ts";
import { session } from "../session.ts";
import { Timeline } from "./timeline.tsx";
import { RepairButtons } from "./tsq-actions.tsx";

type Command = Answer<"GET /api/domains/:domain/commands/:commandId">;
type CommandKey = Pick<Command, "domain" | "commandId">;

/** What tells commands apart: an id is given once per domain. */
export function commandKey({ domain, commandId }: CommandKey): string {
  return `${domain}/${commandId}`;
}

const opened = computed<CommandKey | undefined>(() => {
  const [commandId, domain] = [search.value.get("command"), search.value.get("commandDomain")];
  return commandId && domain ? { domain, commandId } : undefined;
});

/** The {@link commandKey} of the command that is open, from the address. */
export const openCommandKey = computed(() => opened.value && commandKey(opened.value));

/** Opens the sheet about a command. */
export function openCommand({ domain, commandId }: CommandKey): void {
  setSearch({ command: commandId, commandDomain: domain });
}

/** A button that looks like a link and opens the sheet about a command. */
export function CommandLink({ command, children }: { command: CommandKey; children: ComponentChildren }) {
  return (
    <button type="button" class="button-link mono" onClick={() => openCommand(command)}>
      {children}
    </button>
  );
}

/** Everything about the command that the address names: payload, error, attempts, and what happened to it. */
export function CommandInspector() {
  return opened.value ? <OpenCommand key={openCommandKey.value} {...opened.value} /> : null;
}

function OpenCommand({ domain, commandId }: CommandKey) {
  const params = { domain, commandId };
  const load = async (signal: AbortSignal) => {
    const [command, history] = await Promise.all([
      call("GET /api/domains/:domain/commands/:commandId", { params, signal }),
      call("GET /api/domains/:domain/commands/:commandId/history", { params, signal }),
    ]);
    return { command, history };
  };
  const loaded = useData(`command ${domain} ${commandId}`, load, ["overview"]);
  const close = () => setSearch({ command: undefined, commandDomain: undefined });
  return (
    <Inspector title={`Command ${shortId(commandId)}`} close={close}>
      <WhenLoaded of={loaded}>
        {({ command, history }) => (
          <>
            {command.status === "IN_TROUBLESHOOTING_QUEUE" && (
              <RepairButtons target={{ domain, commandIds: [commandId] }} done={loaded.reload} />
            )}
            <CommandFacts command={command} />
            <CommandPayloads command={command} />
            <section>
              <h3>What happened</h3>
              <Timeline events={history} />
            </section>
          </>
        )}
      </WhenLoaded>
    </Inspector>
  );
}

function CommandFacts({ command }: { command: Command }) {
  const { status, domain, commandType, batchId, attempts, maxAttempts, lostLeases, errorCode } = command;
  return (
    <Facts
      of={[
        ["State", <Badge key="state" state={status} />],
        ["Type", `${domain} / ${commandType}`],
        ["Command id", <code key="id">{command.commandId}</code>],
        ["Batch", batchId === null ? "–" : <a href={`/batches/${batchId}`}>{shortId(batchId)}</a>],
        [
          "Attempts",
          `${attempts}${maxAttempts === null ? "" : ` of ${maxAttempts}`}, ${lostLeases} lost leases`,
        ],
        ["Created", <Age key="created" of={command.createdAt} />],
        ["Finished", <Age key="finished" of={command.finishedAt} />],
        ["Error code", errorCode ?? "–"],
      ]}
    />
  );
}

function CommandPayloads({ command: { data, result, errorMessage } }: { command: Command }) {
  return (
    <>
      {errorMessage !== null && (
        <section>
          <h3>Error</h3>
          <Payload label="Error" value={errorMessage} />
        </section>
      )}
      <section>
        <h3>Payload{session.value?.canViewPayloads ? "" : " (your token does not show it)"}</h3>
        <Payload label="Payload" value={data} />
      </section>
      {result !== null && (
        <section>
          <h3>Result</h3>
          <Payload label="Result" value={result} />
        </section>
      )}
    </>
  );
}
