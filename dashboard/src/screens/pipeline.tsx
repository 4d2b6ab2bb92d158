import { ScreenHead } from "../components/panel.tsx";
import { DeadLetterInspector } from "./dead-letters.tsx";
import { RunPanel } from "./run-panel.tsx";
import { ServicePanel } from "./service-panel.tsx";
import { TopicPanel } from "./topic-panel.tsx";

/** What produces and indexes: services, topics, and the account of every tick. */
export function PipelineScreen() {
  return (
    <>
      <ScreenHead title="Pipeline" />
      <RunPanel />
      <TopicPanel />
      <ServicePanel />
      <DeadLetterInspector />
    </>
  );
}
