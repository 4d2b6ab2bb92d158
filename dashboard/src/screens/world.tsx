import { useRef } from "preact/hooks";
import { decodeWorld } from "../../../src/client/index.ts";
import { type Answer, bytesOf, call } from "../api.ts";
import { Panel, ScreenHead } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Loaded, useData } from "../data.ts";
import { counted, formatCount } from "../format.ts";
import { search, setSearch } from "../router.ts";
import { OrganismInspector, openOrganism } from "./organism-inspector.tsx";
import { OrganismPanel } from "./organism-panel.tsx";
import { type Run, RunChoice, useRuns, WithRun } from "./run-choice.tsx";
import { Scrubber } from "./scrubber.tsx";
import { StatisticsPanel } from "./statistics-panel.tsx";
import { WorldCanvas, type WorldPicture } from "./world-canvas.tsx";

type Range = NonNullable<Answer<"GET /api/runs/:runId/indexed">["environment"]>;

/** The world of a run at any indexed tick. */
export function WorldScreen() {
  const runs = useRuns();
  return (
    <>
      <ScreenHead title="World">
        <RunChoice runs={runs.data ?? []} chosen={runs.chosen} />
      </ScreenHead>
      <WithRun runs={runs}>{(run) => <WorldOfRun key={run.runId} run={run} />}</WithRun>
    </>
  );
}

function WorldOfRun({ run }: { run: Run }) {
  const { runId } = run;
  const indexed = useData(
    `indexed ${runId}`,
    (signal) => call("GET /api/runs/:runId/indexed", { params: { runId }, signal }),
    [`run:${runId}`],
  );
  return (
    <WhenLoaded of={indexed}>
      {({ environment }) =>
        environment === null ? (
          <Empty title="Nothing of this run is indexed yet">
            The picture appears with the first indexed tick.
          </Empty>
        ) : (
          <WorldAtTick run={run} range={environment} />
        )
      }
    </WhenLoaded>
  );
}

/** The tick in the address, within what is indexed; without one, the newest. */
function tickInAddress({ firstTick, lastTick }: Range): number {
  const named = search.value.get("tick");
  return named === null ? lastTick : Math.max(firstTick, Math.min(lastTick, Number(named) || firstTick));
}

function WorldAtTick({ run, range }: { run: Run; range: Range }) {
  const tick = tickInAddress(range);
  const loaded = usePicture(run, tick);
  const last = useRef<WorldPicture>(undefined);
  last.current = loaded.data ?? last.current;
  const show = (next: number) => setSearch({ tick: `${next}` });
  const picture = last.current;
  return (
    <>
      <div class="world-grid">
        <Panel title={`Tick ${formatCount(picture?.tickNumber ?? tick)}`} note={picture && noteOf(picture)}>
          <div class="panel-body">
            <WhenLoaded of={{ ...loaded, data: picture }}>
              {(shown) => <WorldCanvas picture={shown} open={openOrganism} />}
            </WhenLoaded>
            <Scrubber
              range={range}
              tick={tick}
              step={run.metadata?.samplingInterval ?? 1}
              isReady={loaded.data !== undefined}
              show={show}
            />
          </div>
        </Panel>
        <StatisticsPanel runId={run.runId} tick={tick} show={show} />
      </div>
      <OrganismPanel organisms={picture?.organisms ?? []} />
      <OrganismInspector runId={run.runId} />
    </>
  );
}

function noteOf({ organisms, isTruncated }: WorldPicture): string {
  return `${counted(organisms.length, "organism")}${isTruncated ? "; the world is larger than what is drawn" : ""}`;
}

function usePicture({ runId, metadata }: Run, tick: number): Loaded<WorldPicture> {
  const params = { runId };
  return useData(`world ${runId} ${tick}`, async (signal) => {
    const [bytes, alive] = await Promise.all([
      bytesOf("GET /api/runs/:runId/environment", { params, query: { tick }, signal }),
      call("GET /api/runs/:runId/organisms", { params, query: { tick }, signal }).catch(() => undefined),
    ]);
    const cells = decodeWorld(bytes);
    const [width = largest(cells.x) + 1, height = largest(cells.y) + 1] = metadata?.worldShape ?? [];
    return {
      tickNumber: cells.tickNumber,
      isTruncated: cells.truncated,
      width,
      height,
      cells,
      // Organisms are indexed by another indexer, which may be behind.
      organisms: alive?.tickNumber === cells.tickNumber ? alive.organisms : [],
    };
  });
}

function largest(values: Uint32Array): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
