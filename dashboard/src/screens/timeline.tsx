import type { Answer } from "../api.ts";
import { formatFields, formatMoment, formatWord } from "../format.ts";

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
          <small>{formatFields(details)}</small>
        </li>
      ))}
    </ol>
  );
}
