import { propose } from "../actions.ts";
import { call } from "../api.ts";
import { shortId } from "../format.ts";
import type { Job } from "./job-panel.tsx";

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
