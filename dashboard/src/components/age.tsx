import { formatMoment, formatSpan } from "../format.ts";
import { now } from "../now.ts";

/** How long ago something was, or how soon it will be; the moment itself on hover. */
export function Age({ of }: { of: string | null | undefined }) {
  if (!of) return <span class="faint">–</span>;
  const spanMs = now.value - Date.parse(of);
  const text =
    spanMs >= 0 ? `${formatSpan(wholeSeconds(spanMs))} ago` : `in ${formatSpan(wholeSeconds(-spanMs))}`;
  return (
    <time dateTime={of} title={formatMoment(of)}>
      {Math.abs(spanMs) < 1_000 ? "now" : text}
    </time>
  );
}

function wholeSeconds(spanMs: number): number {
  return Math.floor(spanMs / 1_000) * 1_000;
}
