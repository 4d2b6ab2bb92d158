import { counted, formatCount } from "../format.ts";

/** The counters of a batch. */
export interface Progress {
  readonly totalCount: number;
  readonly completedCount: number;
  readonly failedCount: number;
  readonly canceledCount: number;
  readonly inTroubleshootingCount: number;
}

/** How much of a batch is where; one part per state, in a fixed order. */
export function ProgressBar({ of, isLarge = false }: { of: Progress; isLarge?: boolean }) {
  const parts = [
    ["completed", of.completedCount],
    ["failed", of.failedCount],
    ["canceled", of.canceledCount],
    ["troubleshooting", of.inTroubleshootingCount],
  ] as const;
  const done = of.completedCount + of.failedCount + of.canceledCount;
  const percent = percentOf(done, of.totalCount);
  const shown = parts.filter(([, count]) => count > 0);
  return (
    <div class={`progress ${isLarge ? "progress-large" : ""}`}>
      <div
        class="progress-bar"
        role="progressbar"
        aria-label="Finished commands"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        title={shown.map(([name, count]) => `${formatCount(count)} ${name}`).join(", ") || "nothing begun"}
      >
        {shown.map(([name, count]) => (
          <span key={name} class={`part-${name}`} style={{ width: `${(count / of.totalCount) * 100}%` }} />
        ))}
      </div>
      <span class="progress-text" title={counted(of.totalCount, "command")}>
        {percent}%
      </span>
    </div>
  );
}

/** Whole percent; 100 only when nothing is left. */
function percentOf(done: number, total: number): number {
  return total === 0 ? 0 : Math.floor((done / total) * 100);
}
