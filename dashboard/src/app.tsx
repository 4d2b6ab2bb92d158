import { useEffect } from "preact/hooks";
import { ActionDialog } from "./components/action-dialog.tsx";
import { KeyHelp } from "./components/key-help.tsx";
import { Empty, Failure, Loading } from "./components/states.tsx";
import { Toasts } from "./components/toasts.tsx";
import { screens } from "./keyboard.ts";
import { path } from "./router.ts";
import { AccessScreen } from "./screens/access.tsx";
import { AuditScreen } from "./screens/audit.tsx";
import { BatchScreen } from "./screens/batch.tsx";
import { BatchesScreen } from "./screens/batches.tsx";
import { FleetScreen } from "./screens/fleet.tsx";
import { LogInScreen } from "./screens/log-in.tsx";
import { OverviewScreen } from "./screens/overview.tsx";
import { PipelineScreen } from "./screens/pipeline.tsx";
import { TroubleshootingScreen } from "./screens/troubleshooting.tsx";
import { WorldScreen } from "./screens/world.tsx";
import { needsLogIn, readSession, session, sessionError } from "./session.ts";
import { Shell } from "./shell.tsx";

/** The page: the log-in, or the shell with one screen. */
export function App() {
  if (session.value === undefined) return <Gate />;
  if (needsLogIn.value) return <LogInScreen />;
  return (
    <>
      <Shell>
        <Screen />
      </Shell>
      <ActionDialog />
      <KeyHelp />
      <Toasts />
    </>
  );
}

function Gate() {
  const error = sessionError.value;
  return (
    <main class="gate">
      {error === undefined ? (
        <Loading />
      ) : (
        <Failure error={new Error(error)} retry={() => void readSession()} />
      )}
    </main>
  );
}

function Screen() {
  const [, first = "", second] = path.value.split("/");
  const name = screens.find(({ href }) => href === `/${first}`)?.name ?? "Not found";
  useEffect(() => {
    document.title = `${name} · Tallyman`;
  }, [name]);
  switch (first) {
    case "":
      return <OverviewScreen />;
    case "batches":
      return second ? <BatchScreen key={second} batchId={second} /> : <BatchesScreen />;
    case "troubleshooting":
      return <TroubleshootingScreen />;
    case "pipeline":
      return <PipelineScreen />;
    case "world":
      return <WorldScreen />;
    case "fleet":
      return <FleetScreen />;
    case "audit":
      return <AuditScreen />;
    case "access":
      return <AccessScreen />;
    default:
      return <UnknownScreen />;
  }
}

function UnknownScreen() {
  return (
    <Empty title="There is no such screen">
      <a href="/">Go to the overview</a>
    </Empty>
  );
}
