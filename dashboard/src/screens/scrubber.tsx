import { useEffect, useState } from "preact/hooks";
import { formatCount } from "../format.ts";
import { setSearch } from "../router.ts";

interface ScrubberProps {
  readonly range: { readonly firstTick: number; readonly lastTick: number };
  readonly tick: number;
  /** Ticks from one record to the next. */
  readonly step: number;
  /** Whether the present tick is drawn. */
  readonly isReady: boolean;
  show(tick: number): void;
}

/** A picture stays at least this long. */
const frameMs = 120;

/** Moves through the indexed ticks, by hand or by itself. */
export function Scrubber({ range, tick, step, isReady, show }: ScrubberProps) {
  const [isPlaying, setIsPlaying] = useState(false);
  const isAtEnd = tick + step > range.lastTick;
  useEffect(() => {
    if (!isPlaying || !isReady) return;
    if (isAtEnd) return setIsPlaying(false);
    const timer = setTimeout(() => show(tick + step), frameMs);
    return () => clearTimeout(timer);
  }, [isPlaying, isReady, tick, isAtEnd]);
  const play = () => {
    if (!isPlaying && isAtEnd) show(range.firstTick);
    setIsPlaying(!isPlaying);
  };
  return (
    <div class="scrubber">
      <button type="button" class="button" data-play onClick={play}>
        {isPlaying ? "Pause" : "Play"}
      </button>
      <input
        type="range"
        aria-label="Tick"
        min={range.firstTick}
        max={range.lastTick}
        step={step}
        value={tick}
        onInput={({ currentTarget }) => {
          setIsPlaying(false);
          show(Number(currentTarget.value));
        }}
      />
      <span class="soft">
        {formatCount(tick)} of {formatCount(range.lastTick)}
      </span>
      <button type="button" class="button" onClick={() => setSearch({ tick: undefined })}>
        Newest
      </button>
    </div>
  );
}
