import { type Entered, propose } from "../actions.ts";
import { call } from "../api.ts";
import { formatMoment, shortId } from "../format.ts";
import { ChangedJobFields, enteredSchedule, NewJobFields } from "./job-form.tsx";
import type { Job } from "./job-panel.tsx";

/** Asks for a job that sends one command, and adds it. */
export function proposeAdd(done: () => void): void {
  propose({
    title: "Add job",
    text: "A job sends its command whenever its time comes.",
    fields: <NewJobFields />,
    confirm: "Add job",
    run: async (reason, entered) => {
      const { key } = await call("POST /api/jobs", {
        body: {
          key: entered("key"),
          schedule: enteredSchedule(entered),
          command: enteredCommand(entered),
          ...(reason && { reason }),
        },
      });
      done();
      return `${key} is scheduled.`;
    },
  });
}

function enteredCommand(entered: Entered) {
  return {
    domain: entered("domain"),
    commandType: entered("commandType"),
    data: parseData(entered("data")),
  };
}

function parseData(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("The data is not valid JSON.");
  }
}

/** Asks when and how a job is to fire from now on. */
export function proposeEdit(job: Job, done: () => void): void {
  const { key, nextFireAt } = job;
  propose({
    title: `Edit ${key}`,
    text: "What the job sends stays as it is.",
    preview: async () =>
      nextFireAt ? `It fires next at ${formatMoment(nextFireAt)}.` : "It has no next time.",
    fields: <ChangedJobFields job={job} />,
    confirm: "Save",
    run: async (reason, entered) => {
      const changed = await call("PATCH /api/jobs/:key", {
        params: { key },
        body: { ...enteredChanges(job, entered), ...(reason && { reason }) },
      });
      done();
      return `${key} ${changed.nextFireAt ? `fires next at ${formatMoment(changed.nextFireAt)}` : "has no next time"}.`;
    },
  });
}

/** A schedule that is given begins anew, so the one that stays is not given. */
function enteredChanges({ schedule: before }: Job, entered: Entered) {
  const schedule = enteredSchedule(entered);
  return {
    ...(JSON.stringify(schedule) !== JSON.stringify(before) && { schedule }),
    misfirePolicy: entered("misfirePolicy") as Job["misfirePolicy"],
    overlapPolicy: entered("overlapPolicy") as Job["overlapPolicy"],
  };
}

/** Asks whether to pause a job, or to resume a paused or parked one. */
export function proposePause({ key, status }: Job, done: () => void): void {
  const isHeld = status === "PAUSED" || status === "PARKED";
  propose({
    title: `${isHeld ? "Resume" : "Pause"} ${key}`,
    text: isHeld
      ? "The job fires again; its misfire policy says what it catches up."
      : "The job does not fire until it is resumed.",
    confirm: isHeld ? "Resume" : "Pause",
    run: async (reason) => {
      await call(isHeld ? "POST /api/jobs/:key/resume" : "POST /api/jobs/:key/pause", {
        params: { key },
        body: { ...(reason && { reason }) },
      });
      done();
      return `${key} is ${isHeld ? "scheduled again" : "paused"}.`;
    },
  });
}

/** Asks whether to run a job now. */
export function proposeRun(key: string, done: () => void): void {
  propose({
    title: `Run ${key}`,
    text: "The job sends what it sends, now, beside its schedule.",
    confirm: "Run now",
    run: async (reason) => {
      const { runId } = await call("POST /api/jobs/:key/run", {
        params: { key },
        body: { ...(reason && { reason }) },
      });
      done();
      return `${key} has sent ${shortId(runId)}.`;
    },
  });
}

/** Asks whether to remove a job. */
export function proposeRemove(key: string, done: () => void): void {
  propose({
    title: `Remove ${key}`,
    text: "The job and its history disappear; what it has sent stays on the bus.",
    confirm: "Remove",
    isDangerous: true,
    run: async (reason) => {
      await call("DELETE /api/jobs/:key", { params: { key }, query: { ...(reason && { reason }) } });
      done();
      return `${key} is removed.`;
    },
  });
}
