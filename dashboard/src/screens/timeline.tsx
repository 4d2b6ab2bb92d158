import type { Answer } from "../api.ts";
import { formatMoment, formatWord } from "../format.ts";

type Event = Answer<"GET /api/batches/:batchId/history">[number];

/** What happened, in order. */
export function Timeline({ events }: { events: readonly Event[] }) {
  return (
    <ol class="timeline">
      {events.map(({ auditId, eventType, createdAt, details }) => (
        <li key={auditId}>
          <span>{formatWord(eventType)}</span>
          <time class="faint" dateTime={createdAt}>
            {formatMoment(createdAt)}
          </time>
          <small>{describeDetails(details)}</small>
        </li>
      ))}
    </ol>
  );
}

function describeDetails(details: unknown): string {
  if (typeof details !== "object" || details === null) return "";
  const entries = Object.entries(details).filter(([, value]) => value !== null && value !== undefined);
  return entries
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
