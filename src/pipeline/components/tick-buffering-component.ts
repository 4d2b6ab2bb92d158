import type { TickData } from "../../contracts/index.ts";
import { systemClock } from "../../runtime/index.ts";
import type { FileChunk, IndexedFile } from "../indexer/indexed-file.ts";

/** How far one file comes with a flush. */
export interface FileStep {
  readonly file: IndexedFile;
  readonly from: number;
  readonly to: number;
  /** Whether `to` is the file's end: then, and only then, it is acknowledged. */
  readonly completes: boolean;
}

/** What one flush writes. */
export interface Flush<T> {
  readonly ticks: readonly T[];
  readonly steps: readonly FileStep[];
}

/** When the buffer is flushed. */
export interface TickBufferingOptions {
  /** Ticks of one flush. */
  readonly insertBatchSize: number;
  /** How long a tick waits at most. */
  readonly flushTimeoutMs: number;
  /** Encoded size at which the buffer is flushed, however few ticks it holds. */
  readonly bufferBytesMax: number;
  /** Default: the machine's monotonic clock. */
  readonly nowMs?: () => number;
}

interface Segment<T> {
  readonly file: IndexedFile;
  from: number;
  records: readonly T[];
  bytes: number;
  readonly isLast: boolean;
  readonly sinceMs: number;
}

/**
 * Gathers ticks across files, so that the size of an insert does not depend on the size of a file, and
 * knows for each tick which file it is from: a file is acknowledged when its last tick is flushed.
 *
 * Looking at a flush changes nothing; only {@link remove}, after the commit, does. Belongs to one indexer
 * instance; not for concurrent use.
 *
 * @example
 * ```ts
 * buffering.add(chunk);
 * if (buffering.shouldFlush()) {
 *   const flush = buffering.nextFlush();
 *   await write(flush.ticks);
 *   buffering.remove(flush);
 * }
 * ```
 */
export class TickBufferingComponent<T = TickData> {
  readonly #options: TickBufferingOptions;
  readonly #nowMs: () => number;
  #segments: Segment<T>[] = [];
  #ticks = 0;
  #bytes = 0;

  constructor(options: TickBufferingOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? systemClock.monotonicMs;
  }

  /** Adds records of a file; those of one file come in order. */
  add({ file, from, records, bytes, isLast }: FileChunk<T>): void {
    this.#segments.push({ file, from, records, bytes, isLast, sinceMs: this.#nowMs() });
    this.#ticks += records.length;
    this.#bytes += bytes;
  }

  /** Whether there are enough ticks, or the oldest has waited long enough. */
  shouldFlush(): boolean {
    const { insertBatchSize, bufferBytesMax } = this.#options;
    if (this.#segments.length === 0) return false;
    return this.#ticks >= insertBatchSize || this.#bytes >= bufferBytesMax || this.msUntilFlush() <= 0;
  }

  /** How long the oldest tick may still wait; infinite while nothing is buffered. */
  msUntilFlush(): number {
    const [oldest] = this.#segments;
    if (!oldest) return Number.POSITIVE_INFINITY;
    return oldest.sinceMs + this.#options.flushTimeoutMs - this.#nowMs();
  }

  /** The oldest ticks, at most `insertBatchSize`, and how far their files come with them. */
  nextFlush(): Flush<T> {
    const ticks: T[] = [];
    const steps = new Map<IndexedFile, FileStep>();
    for (const segment of this.#segments) {
      const taken = Math.min(segment.records.length, this.#options.insertBatchSize - ticks.length);
      if (taken === 0 && segment.records.length > 0) break;
      for (let i = 0; i < taken; i++) ticks.push(segment.records[i] as T);
      const { file } = segment;
      const to = segment.from + taken;
      const from = steps.get(file)?.from ?? segment.from;
      steps.set(file, {
        file,
        from,
        to,
        completes: segment.isLast && taken === segment.records.length,
      });
      if (taken < segment.records.length) break;
    }
    return { ticks, steps: [...steps.values()] };
  }

  /** The part of a flush that is of one file alone, to find out which file is at fault. */
  flushOf(flush: Flush<T>, step: FileStep): Flush<T> {
    const before = flush.steps.slice(0, flush.steps.indexOf(step));
    const start = before.reduce((sum, { from, to }) => sum + to - from, 0);
    return { ticks: flush.ticks.slice(start, start + step.to - step.from), steps: [step] };
  }

  /** Forgets what was flushed, once it is committed. */
  remove(flush: Flush<T>): void {
    for (const { file, to, completes } of flush.steps) {
      for (const segment of this.#segments) {
        if (segment.file === file) this.#trim(segment, to - segment.from);
      }
      this.#segments = this.#segments.filter(
        (segment) => segment.file !== file || segment.records.length > 0 || (segment.isLast && !completes),
      );
    }
  }

  /** Forgets a file that is no longer ours, or that failed. */
  drop(filename: string): void {
    for (const { file, records, bytes } of this.#segments) {
      if (file.filename !== filename) continue;
      this.#ticks -= records.length;
      this.#bytes -= bytes;
    }
    this.#segments = this.#segments.filter(({ file }) => file.filename !== filename);
  }

  /** Ticks in the buffer. */
  getBufferSize(): number {
    return this.#ticks;
  }

  /** Whether nothing is left to flush, not even the end of an empty file. */
  isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  /** Files that have something in the buffer. */
  getClaimedBatchCount(): number {
    return new Set(this.#segments.map(({ file }) => file)).size;
  }

  getFlushTimeoutMs(): number {
    return this.#options.flushTimeoutMs;
  }

  #trim(segment: Segment<T>, count: number): void {
    const gone = Math.max(0, Math.min(count, segment.records.length));
    if (gone === 0) return;
    const bytesGone = Math.round((segment.bytes * gone) / segment.records.length);
    segment.records = segment.records.slice(gone);
    segment.from += gone;
    segment.bytes -= bytesGone;
    this.#ticks -= gone;
    this.#bytes -= bytesGone;
  }
}
