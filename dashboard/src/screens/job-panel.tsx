import { call, type ItemOf } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { Age } from "../components/age.tsx";
import { Badge } from "../components/badge.tsx";
import { ChoiceFilter } from "../components/filters.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty } from "../components/states.tsx";
import { type Column, PagedTable } from "../components/table.tsx";
import { usePages } from "../data.ts";
import { formatCount, formatMoment, formatSpan, formatWord } from "../format.ts";
import { search } from "../router.ts";
import { proposeAdd, proposePause, proposeRun } from "./job-actions.tsx";
import { JobInspector, openJob } from "./job-inspector.tsx";

/** A job as the API shows it. */
export type Job = ItemOf<"GET /api/jobs">;

const rowsPerPage = 50;
const statuses = ["SCHEDULED", "PAUSED", "DISABLED", "PARKED", "FINISHED"] as const;

/** Jobs with their next and last fires. */
export function JobPanel() {
  const status = statuses.find((each) => each === search.value.get("status"));
  const pages = usePages<Job>(
    `jobs ${status}`,
    (cursor, signal) =>
      call("GET /api/jobs", {
        query: { limit: rowsPerPage, ...(status && { status }), ...(cursor && { cursor }) },
        signal,
      }),
    ["jobs"],
  );
  return (
    <Panel
      title="Jobs"
      actions={
        <>
          <ChoiceFilter
            name="status"
            label="State"
            choices={statuses.map((each) => [each, formatWord(each)] as const)}
            isFirst
          />
          <ActionButton onClick={() => proposeAdd(pages.reload)}>Add job …</ActionButton>
        </>
      }
    >
      <PagedTable
        label="Jobs"
        columns={columnsOf(pages.reload)}
        pages={pages}
        idOf={({ key }) => key}
        open={({ key }) => openJob(key)}
        openId={search.value.get("job") ?? undefined}
        empty={<NoJobs isFiltered={status !== undefined} />}
      />
      <JobInspector changed={pages.reload} />
    </Panel>
  );
}

function NoJobs({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No job in this state" />;
  return <Empty title="No job yet">A job sends a command or a batch whenever its time comes.</Empty>;
}

function columnsOf(reload: () => void): readonly Column<Job>[] {
  return [
    {
      title: "Job",
      isWide: true,
      cell: ({ key, errorMessage }) => (
        <span class="two-lines">
          <button type="button" class="button-link" onClick={() => openJob(key)}>
            {key}
          </button>
          {errorMessage !== null && <small class="error-text">{errorMessage}</small>}
        </span>
      ),
    },
    { title: "State", cell: ({ status }) => <Badge state={status} /> },
    {
      title: "Schedule",
      isSecondary: true,
      cell: ({ schedule }) => <code>{describeSchedule(schedule)}</code>,
    },
    { title: "Sends to", isSecondary: true, cell: ({ domain }) => domain },
    { title: "Fires", isSecondary: true, isNumber: true, cell: ({ fireCount }) => formatCount(fireCount) },
    { title: "Last", isSecondary: true, cell: ({ lastFireAt }) => <Age of={lastFireAt} /> },
    { title: "Next", isSecondary: true, cell: ({ nextFireAt }) => <Age of={nextFireAt} /> },
    {
      title: "Action",
      cell: (job) => (
        <span class="buttons">
          <PauseButton job={job} reload={reload} />
          <ActionButton isSmall label={`Run ${job.key}`} onClick={() => proposeRun(job.key, reload)}>
            Run
          </ActionButton>
        </span>
      ),
    },
  ];
}

function PauseButton({ job, reload }: { job: Job; reload: () => void }) {
  const verb = job.status === "PAUSED" || job.status === "PARKED" ? "Resume" : "Pause";
  return (
    <ActionButton
      isSmall
      label={`${verb} ${job.key}`}
      isDisabled={job.status === "FINISHED"}
      onClick={() => proposePause(job, reload)}
    >
      {verb}
    </ActionButton>
  );
}

/** When a job fires, in a few words. */
export function describeSchedule({ at, everyMs, cron, timeZone }: Job["schedule"]): string {
  if (everyMs !== undefined) return `every ${formatSpan(everyMs)}`;
  if (at !== undefined) return `once at ${formatMoment(at)}`;
  return `${cron}${timeZone ? ` ${timeZone}` : ""}`;
}
