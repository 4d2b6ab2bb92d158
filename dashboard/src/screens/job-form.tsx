import { useState } from "preact/hooks";
import type { Entered } from "../actions.ts";
import { ChoiceField, NumberField, TextField, TimeField } from "../components/fields.tsx";
import { toLocalInput } from "../format.ts";
import type { Job } from "./job-panel.tsx";

type Schedule = Job["schedule"];

const secondMs = 1_000;

/** Fields for a job that sends one command. */
export function NewJobFields() {
  return (
    <>
      <TextField name="key" label="Key" isWide />
      <ScheduleFields schedule={{ everyMs: 60 * secondMs }} />
      <TextField name="domain" label="Domain" />
      <TextField name="commandType" label="Command type" />
      <TextField name="data" label="Data as JSON" initial="{}" isWide />
    </>
  );
}

/** Fields for what can be changed about a job without touching what it sends. */
export function ChangedJobFields({ job }: { job: Job }) {
  return (
    <>
      <ScheduleFields schedule={job.schedule} />
      <ChoiceField
        name="misfirePolicy"
        label="Missed fires"
        choices={[
          ["SKIP", "are skipped"],
          ["FIRE_ONCE", "are made up for once"],
          ["FIRE_ALL", "are all made up for"],
        ]}
        initial={job.misfirePolicy}
      />
      <ChoiceField
        name="overlapPolicy"
        label="While the last one runs"
        choices={[
          ["ALLOW", "it fires"],
          ["SKIP", "it does not fire"],
        ]}
        initial={job.overlapPolicy}
      />
    </>
  );
}

function ScheduleFields({ schedule }: { schedule: Schedule }) {
  const [kind, setKind] = useState(kindOf(schedule));
  return (
    <>
      <ChoiceField
        name="kind"
        label="Fires"
        choices={[
          ["every", "every so many seconds"],
          ["cron", "by cron"],
          ["at", "once"],
        ]}
        initial={kind}
        change={setKind}
      />
      <KindFields kind={kind} schedule={schedule} />
    </>
  );
}

function KindFields({ kind, schedule }: { kind: string; schedule: Schedule }) {
  const { everyMs = 60 * secondMs, at, cron = "0 6 * * *", timeZone = "UTC" } = schedule;
  if (kind === "every") return <NumberField name="seconds" label="Seconds" initial={everyMs / secondMs} />;
  if (kind === "at") return <TimeField name="at" label="Time" initial={at ? toLocalInput(at) : ""} />;
  return (
    <>
      <TextField name="cron" label="Cron" initial={cron} />
      <TextField name="timeZone" label="Time zone" initial={timeZone} />
    </>
  );
}

function kindOf({ everyMs, at }: Schedule): string {
  if (everyMs !== undefined) return "every";
  return at === undefined ? "cron" : "at";
}

/** The schedule that was entered. */
export function enteredSchedule(entered: Entered): Schedule {
  if (entered("kind") === "every") return { everyMs: Math.round(Number(entered("seconds")) * secondMs) };
  if (entered("kind") === "at") return { at: new Date(entered("at")).toISOString() };
  return { cron: entered("cron"), timeZone: entered("timeZone") };
}
