import { useMemo } from "preact/hooks";
import { type Answer, call } from "../api.ts";
import { Chart, type Line } from "../components/chart.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { useData } from "../data.ts";

type Bucket = Answer<"GET /api/runs/:runId/statistics">[number];

interface StatisticsPanelProps {
  readonly runId: string;
  readonly tick: number;
  show(tick: number): void;
}

const bucketCount = 400;

const charts: readonly { title: string; linesOf(buckets: readonly Bucket[]): readonly Line[] }[] = [
  {
    title: "Population",
    linesOf: (buckets) => [
      { label: "organisms", colour: "--accent", values: buckets.map(({ population }) => population) },
    ],
  },
  {
    title: "Births and deaths",
    linesOf: (buckets) => [
      { label: "births", colour: "--good", values: buckets.map(({ births }) => births) },
      { label: "deaths", colour: "--bad", values: buckets.map(({ deaths }) => deaths) },
    ],
  },
  {
    title: "Mean energy",
    linesOf: (buckets) => [
      { label: "energy", colour: "--warn-fill", values: buckets.map(({ meanEnergy }) => meanEnergy) },
    ],
  },
];

/** How the world fared over all indexed ticks; a click goes to a tick. */
export function StatisticsPanel({ runId, tick, show }: StatisticsPanelProps) {
  const statistics = useData(
    `statistics ${runId}`,
    (signal) =>
      call("GET /api/runs/:runId/statistics", { params: { runId }, query: { buckets: bucketCount }, signal }),
    [`run:${runId}`],
  );
  return (
    <Panel title="Over time" note="click to go there">
      <WhenLoaded of={statistics}>
        {(buckets) =>
          buckets.length === 0 ? (
            <Empty title="No statistics yet">The statistics indexer makes them.</Empty>
          ) : (
            <Charts buckets={buckets} tick={tick} show={show} />
          )
        }
      </WhenLoaded>
    </Panel>
  );
}

function Charts({
  buckets,
  tick,
  show,
}: Omit<StatisticsPanelProps, "runId"> & { buckets: readonly Bucket[] }) {
  const ticks = useMemo(() => buckets.map(({ firstTick }) => firstTick), [buckets]);
  const lines = useMemo(() => charts.map(({ linesOf }) => linesOf(buckets)), [buckets]);
  return (
    <div class="charts">
      {charts.map(({ title }, index) => (
        <div key={title}>
          <h3>
            {title}
            {(lines[index]?.length ?? 0) > 1 &&
              lines[index]?.map(({ label, colour }) => (
                <span key={label} class="chart-key" style={{ "--key": `var(${colour})` }}>
                  {label}
                </span>
              ))}
          </h3>
          <Chart label={title} ticks={ticks} lines={lines[index] ?? []} at={tick} pick={show} />
        </div>
      ))}
    </div>
  );
}
