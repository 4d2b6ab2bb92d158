import { formatWord } from "../format.ts";

type Tone = "good" | "busy" | "warn" | "bad" | "calm";

/** States of commands, batches, services, workers, jobs and claims. */
const tones: Readonly<Record<string, Tone>> = {
  PENDING: "calm",
  IN_PROGRESS: "busy",
  COMPLETED: "good",
  COMPLETED_WITH_FAILURES: "warn",
  FAILED: "bad",
  CANCELED: "calm",
  IN_TROUBLESHOOTING_QUEUE: "warn",
  RUNNING: "good",
  PAUSED: "warn",
  STOPPED: "calm",
  ERROR: "bad",
  ONLINE: "good",
  DRAINING: "busy",
  UNHEALTHY: "bad",
  OFFLINE: "calm",
  SCHEDULED: "good",
  DISABLED: "calm",
  PARKED: "bad",
  FINISHED: "calm",
  FIRED: "good",
  SKIPPED: "calm",
  MISSED: "warn",
  claimed: "busy",
  completed: "good",
  failed: "bad",
  pending: "warn",
  permanent: "bad",
};

const short: Readonly<Record<string, string>> = {
  IN_TROUBLESHOOTING_QUEUE: "troubleshooting",
  COMPLETED_WITH_FAILURES: "with failures",
};

/** A state as a coloured dot and its word. */
export function Badge({ state }: { state: string }) {
  return <span class={`badge tone-${tones[state] ?? "calm"}`}>{short[state] ?? formatWord(state)}</span>;
}
