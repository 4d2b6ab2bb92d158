import type { ComponentChildren } from "preact";
import { type Answer, call } from "../api.ts";
import { Panel, ScreenHead } from "../components/panel.tsx";
import { Sparkline } from "../components/sparkline.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { useData } from "../data.ts";
import { counted, formatCount, formatRate } from "../format.ts";
import { BatchTable } from "./batch-table.tsx";
import { DomainPanel } from "./domain-panel.tsx";

type Overview = Answer<"GET /api/overview">;
type Sample = Answer<"GET /api/overview/history">[number];

const runningShown = 6;

/** The whole system at a glance, with what needs a person first. */
export function OverviewScreen() {
  const overview = useData("overview", (signal) => call("GET /api/overview", { signal }), ["overview"]);
  const history = useData("history", (signal) => call("GET /api/overview/history", { signal }), ["overview"]);
  return (
    <>
      <ScreenHead title="Overview" />
      <WhenLoaded of={overview}>
        {(data) => (
          <>
            <Attention of={data.attention} />
            <Figures overview={data} history={history.data ?? []} />
          </>
        )}
      </WhenLoaded>
      <RunningBatches />
      <DomainPanel />
    </>
  );
}

function Attention({ of }: { of: Overview["attention"] }) {
  return (
    <Panel title="Needs attention" note={of.length === 0 ? undefined : counted(of.length, "matter")}>
      {of.length === 0 ? (
        <Empty title="Nothing needs you">All work is accounted for and moving.</Empty>
      ) : (
        <ul class="attention">
          {of.map(({ severity, text, link }) => (
            <li key={text}>
              <a href={link}>
                <span class={`badge ${severity === "error" ? "tone-bad" : "tone-warn"}`}>{severity}</span>
                {text}
              </a>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Figures({ overview, history }: { overview: Overview; history: readonly Sample[] }) {
  const { commands, batches, pipeline, scheduler } = overview;
  const of = (pick: (sample: Sample) => number) => history.map(pick);
  const backlog = commands.ready + commands.waiting + commands.inProgress;
  return (
    <div class="figures">
      <Figure label="Batches running" value={formatCount(batches.running)} href="/batches?status=IN_PROGRESS">
        {batches.blocked > 0 ? `${formatCount(batches.blocked)} blocked` : "none blocked"}
      </Figure>
      <Figure
        label="Backlog"
        value={formatCount(backlog)}
        href="/batches"
        values={of((sample) => sample.backlog)}
      >
        {formatCount(commands.inProgress)} in progress, {formatCount(commands.waiting)} wait
      </Figure>
      <Figure
        label="Completed / s"
        value={formatRate(commands.completedPerSecond)}
        href="/batches"
        values={of((sample) => sample.completedPerSecond)}
      >
        over the last minute
      </Figure>
      <Figure
        label="Failed / s"
        value={formatRate(commands.failedPerSecond)}
        href="/troubleshooting"
        values={of((sample) => sample.failedPerSecond)}
      >
        over the last minute
      </Figure>
      <Figure
        label="In troubleshooting"
        value={formatCount(commands.inTroubleshooting)}
        href="/troubleshooting"
        values={of((sample) => sample.inTroubleshooting)}
      >
        need a person
      </Figure>
      <Figure
        label="Pipeline lag"
        value={formatCount(pipeline.lag)}
        href="/pipeline"
        values={of((sample) => sample.lag)}
      >
        messages not yet read
      </Figure>
      <PipelineFigures of={pipeline} />
      <SchedulerFigures of={scheduler} />
    </div>
  );
}

function PipelineFigures({ of }: { of: Overview["pipeline"] }) {
  return (
    <>
      <Figure label="Open gaps" value={formatCount(of.gapsPending)} href="/pipeline">
        {of.gapsPermanent > 0 ? `${formatCount(of.gapsPermanent)} permanent` : "none permanent"}
      </Figure>
      <Figure label="Dead letters" value={formatCount(of.deadLetters)} href="/pipeline">
        messages given up
      </Figure>
      <Figure label="Services running" value={formatCount(of.servicesRunning)} href="/pipeline">
        {of.servicesFailed > 0 ? `${formatCount(of.servicesFailed)} failed or lost` : "none failed"}
      </Figure>
    </>
  );
}

function SchedulerFigures({ of }: { of: Overview["scheduler"] }) {
  const { leader, workersOnline, workersUnhealthy, segmentsOwned, segmentCount, jobsParked } = of;
  return (
    <>
      <Figure label="Leader" value={leader?.coordinatorId ?? "none"} href="/fleet" isText>
        {leader ? `epoch ${leader.epoch}` : "nobody assigns segments"}
      </Figure>
      <Figure label="Scheduler workers" value={formatCount(workersOnline)} href="/fleet">
        {workersUnhealthy > 0 ? `${formatCount(workersUnhealthy)} unhealthy` : "online"}
      </Figure>
      <Figure label="Segments owned" value={`${segmentsOwned} / ${segmentCount}`} href="/fleet">
        {jobsParked > 0 ? counted(jobsParked, "job parked", "jobs parked") : "no job parked"}
      </Figure>
    </>
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly href: string;
  /** The last hour. */
  readonly values?: readonly number[];
  /** For a name instead of a number. */
  readonly isText?: boolean;
  readonly children: ComponentChildren;
}

function Figure({ label, value, href, values, isText = false, children }: FigureProps) {
  return (
    <a class={`figure ${isText ? "figure-text" : ""}`} href={href}>
      <span class="figure-label">{label}</span>
      <span class="figure-value" title={value}>
        {value}
      </span>
      {values && <Sparkline values={values} label={`${label}, the last hour`} />}
      <span class="figure-note">{children}</span>
    </a>
  );
}

function RunningBatches() {
  const running = useData(
    "running",
    (signal) => call("GET /api/batches", { query: { status: "IN_PROGRESS", limit: runningShown }, signal }),
    ["running"],
  );
  return (
    <Panel title="Running batches" actions={<a href="/batches">All batches</a>}>
      <WhenLoaded of={running}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No batch is running" />
          ) : (
            <BatchTable label="Running batches" batches={items} />
          )
        }
      </WhenLoaded>
    </Panel>
  );
}
