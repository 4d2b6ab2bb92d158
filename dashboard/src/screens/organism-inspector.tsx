import { useMemo } from "preact/hooks";
import { type Answer, call } from "../api.ts";
import { Chart } from "../components/chart.tsx";
import { Facts } from "../components/facts.tsx";
import { Inspector } from "../components/inspector.tsx";
import { WhenLoaded } from "../components/states.tsx";
import { useData } from "../data.ts";
import { formatCount } from "../format.ts";
import { search, setSearch } from "../router.ts";

type Life = Answer<"GET /api/runs/:runId/organisms/:organismId">;

/** Opens the life of an organism. */
export function openOrganism(organismId: number): void {
  setSearch({ organism: `${organismId}` });
}

/** The life of the organism that the address names. */
export function OrganismInspector({ runId }: { runId: string }) {
  const organismId = search.value.get("organism");
  return organismId ? <LifeOf key={organismId} runId={runId} organismId={Number(organismId)} /> : null;
}

function LifeOf({ runId, organismId }: { runId: string; organismId: number }) {
  const life = useData(
    `life ${runId} ${organismId}`,
    (signal) => call("GET /api/runs/:runId/organisms/:organismId", { params: { runId, organismId }, signal }),
    [`run:${runId}`],
  );
  return (
    <Inspector title={`Organism ${organismId}`} close={() => setSearch({ organism: undefined })}>
      <WhenLoaded of={life}>
        {(data) => (
          <>
            <LifeFacts life={data} />
            <section>
              <h3>Energy</h3>
              <EnergyChart life={data} />
            </section>
          </>
        )}
      </WhenLoaded>
    </Inspector>
  );
}

function LifeFacts({ life: { birthTick, deathTick, parentId, children, path } }: { life: Life }) {
  const last = path.at(-1);
  return (
    <Facts
      of={[
        ["Born", <TickLink key="born" tick={birthTick} />],
        ["Died", deathTick === null ? "lives" : <TickLink key="died" tick={deathTick} />],
        [
          "Parent",
          parentId === null ? (
            "none"
          ) : (
            <button type="button" class="button-link" onClick={() => openOrganism(parentId)}>
              {parentId}
            </button>
          ),
        ],
        ["Children", formatCount(children)],
        ["Last seen", last ? `${last.x}, ${last.y} at tick ${formatCount(last.tickNumber)}` : "–"],
      ]}
    />
  );
}

function TickLink({ tick }: { tick: number }) {
  return (
    <button type="button" class="button-link" onClick={() => setSearch({ tick: `${tick}` })}>
      tick {formatCount(tick)}
    </button>
  );
}

function EnergyChart({ life: { path } }: { life: Life }) {
  const ticks = useMemo(() => path.map(({ tickNumber }) => tickNumber), [path]);
  const lines = useMemo(
    () => [{ label: "energy", colour: "--accent", values: path.map(({ energy }) => energy) }],
    [path],
  );
  return (
    <Chart
      label="Energy over its life"
      ticks={ticks}
      lines={lines}
      pick={(tick) => setSearch({ tick: `${tick}` })}
    />
  );
}
