import { call, type ItemOf } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { Badge } from "../components/badge.tsx";
import { Facts } from "../components/facts.tsx";
import { Inspector } from "../components/inspector.tsx";
import { Payload } from "../components/payload.tsx";
import { WhenLoaded } from "../components/states.tsx";
import { type Column, PagedTable } from "../components/table.tsx";
import { useData, usePages } from "../data.ts";
import { formatMoment, formatWord, shortId } from "../format.ts";
import { search, setSearch } from "../router.ts";
import { proposeEdit, proposeRemove } from "./job-actions.tsx";
import { describeSchedule, type Job } from "./job-panel.tsx";

type Fire = ItemOf<"GET /api/jobs/:key/history">;

const firesPerPage = 20;
const nextShown = 5;

/** Opens the sheet about a job. */
export function openJob(key: string): void {
  setSearch({ job: key });
}

function closeJob(): void {
  setSearch({ job: undefined });
}

/** The job that the address names: its settings, next fires and history. */
export function JobInspector({ changed }: { changed: () => void }) {
  const key = search.value.get("job");
  return key ? <OpenJob key={key} jobKey={key} changed={changed} /> : null;
}

function OpenJob({ jobKey, changed }: { jobKey: string; changed: () => void }) {
  const params = { key: jobKey };
  const load = async (signal: AbortSignal) => {
    const [job, next, payload] = await Promise.all([
      call("GET /api/jobs/:key", { params, signal }),
      call("GET /api/jobs/:key/next", { params, query: { count: nextShown }, signal }),
      call("GET /api/jobs/:key/payload", { params, signal }),
    ]);
    return { job, next, payload };
  };
  const loaded = useData(`job ${jobKey}`, load, ["jobs"]);
  const edited = () => {
    loaded.reload();
    changed();
  };
  const removed = () => {
    closeJob();
    changed();
  };
  return (
    <Inspector title={jobKey} close={closeJob}>
      <WhenLoaded of={loaded}>
        {({ job, next, payload }) => (
          <>
            <div class="buttons">
              <ActionButton onClick={() => proposeEdit(job, edited)}>Edit …</ActionButton>
              <ActionButton onClick={() => proposeRemove(jobKey, removed)}>Remove …</ActionButton>
            </div>
            <JobFacts job={job} />
            <NextFires times={next} />
            <section>
              <h3>Sends</h3>
              <Payload label="Commands" value={payload} />
            </section>
            <History jobKey={jobKey} />
          </>
        )}
      </WhenLoaded>
    </Inspector>
  );
}

function JobFacts({ job }: { job: Job }) {
  return (
    <Facts
      of={[
        ["State", <Badge key="state" state={job.status} />],
        ["Schedule", describeSchedule(job.schedule)],
        ["Domain", job.domain],
        ["Segment", job.segmentId],
        ["Misfires", formatWord(job.misfirePolicy)],
        ["Overlap", formatWord(job.overlapPolicy)],
        ["Error", job.errorMessage ?? "–"],
      ]}
    />
  );
}

function NextFires({ times }: { times: readonly string[] }) {
  return (
    <section>
      <h3>Next fires</h3>
      <ol>
        {times.map((time) => (
          <li key={time}>{formatMoment(time)}</li>
        ))}
      </ol>
      {times.length === 0 && <p class="faint">none</p>}
    </section>
  );
}

const columns: readonly Column<Fire>[] = [
  { title: "Time", cell: ({ fireTime }) => formatMoment(fireTime) },
  {
    title: "Outcome",
    cell: ({ outcome, isManual }) => `${formatWord(outcome)}${isManual ? " by hand" : ""}`,
  },
  { title: "Sent", cell: ({ runId }) => (runId ? <code>{shortId(runId)}</code> : "–") },
];

function History({ jobKey }: { jobKey: string }) {
  const pages = usePages<Fire>(
    `fires ${jobKey}`,
    (cursor, signal) =>
      call("GET /api/jobs/:key/history", {
        params: { key: jobKey },
        query: { limit: firesPerPage, ...(cursor && { cursor }) },
        signal,
      }),
    ["jobs"],
  );
  return (
    <section>
      <h3>History</h3>
      <PagedTable
        label="History"
        columns={columns}
        pages={pages}
        idOf={({ cursor }) => cursor}
        empty={<p class="faint">It has not fired yet.</p>}
      />
    </section>
  );
}
