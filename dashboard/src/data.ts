import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { listen } from "./live.ts";

/** What a screen has of its data. */
export interface Loaded<T> {
  /** The last answer; kept while the next one is on its way. */
  readonly data: T | undefined;
  readonly error: unknown;
  /** Asks again now, and waits until `data` or `error` is the answer. */
  reload(): Promise<void>;
}

interface State<T> {
  readonly key: string;
  readonly data: T | undefined;
  readonly error: unknown;
}

/** Events come faster than people read. */
const reloadMsMin = 400;

/**
 * The answer to a question, asked again whenever a live topic tells of a change.
 *
 * @param key what the question depends on: another key is another question
 */
export function useData<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  topics: readonly string[] = [],
): Loaded<T> {
  const [state, setState] = useState<State<T>>({ key, data: undefined, error: undefined });
  const question = useRef(load);
  question.current = load;
  const asked = useRef<AbortController>(undefined);
  const reload = useCallback(async () => {
    asked.current?.abort();
    const attempt = new AbortController();
    asked.current = attempt;
    await question.current(attempt.signal).then(
      (data) => attempt.signal.aborted || setState({ key, data, error: undefined }),
      (error: unknown) =>
        attempt.signal.aborted ||
        setState((before) => ({ key, data: before.key === key ? before.data : undefined, error })),
    );
    if (asked.current === attempt) asked.current = undefined;
  }, [key]);
  useEffect(() => {
    void reload();
    return () => asked.current?.abort();
  }, [reload]);
  const reloadUnlessAsked = useCallback(() => {
    if (asked.current) return false;
    void reload();
    return true;
  }, [reload]);
  useReloads(reloadUnlessAsked, topics);
  const isOfKey = state.key === key;
  return { data: isOfKey ? state.data : undefined, error: isOfKey ? state.error : undefined, reload };
}

/**
 * Reloads at events, at most once per interval; the last event is never left out.
 *
 * @param reload false while the answer before is on its way: cut off by each event, a long one would never come
 */
function useReloads(reload: () => boolean, topics: readonly string[]): void {
  const names = topics.join(",");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastMs = performance.now();
    const onEvent = () => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          lastMs = performance.now();
          if (!reload()) onEvent();
        },
        Math.max(0, lastMs + reloadMsMin - performance.now()),
      );
    };
    const ends = names === "" ? [] : names.split(",").map((topic) => listen(topic, onEvent));
    return () => {
      clearTimeout(timer);
      for (const end of ends) end();
    };
  }, [reload, names]);
}

/** One page of a list. */
interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/** A list that is read page by page. */
export interface Pages<Item> extends Omit<Loaded<readonly Item[]>, "data"> {
  readonly items: readonly Item[] | undefined;
  /** Reads one page more; undefined when there is none. */
  readonly more: (() => Promise<void>) | undefined;
  /** Whether the list goes on where no more of it is shown. */
  readonly isCut: boolean;
}

type LoadPage<Item> = (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>;

/** Every page shown is read again at each news. */
const pagesMax = 20;

/**
 * The first pages of a list, as many as somebody wants. Each reload reads all of them again, from the start: a page kept
 * from before would lack the rows that have moved on to it, and still show those that have gone.
 */
export function usePages<Item>(
  key: string,
  load: LoadPage<Item>,
  topics: readonly string[] = [],
): Pages<Item> {
  const wanted = useRef({ key, count: 1 });
  if (wanted.current.key !== key) wanted.current = { key, count: 1 };
  const read = useData(key, (signal) => readPages(load, wanted.current.count, signal), topics);
  const { pageCount = 0, nextCursor = null } = read.data ?? {};
  const more = () => {
    wanted.current.count = pageCount + 1;
    return read.reload();
  };
  return {
    items: read.data?.items,
    error: read.error,
    reload: read.reload,
    more: nextCursor === null || pageCount >= pagesMax ? undefined : more,
    isCut: nextCursor !== null && pageCount >= pagesMax,
  };
}

async function readPages<Item>(load: LoadPage<Item>, count: number, signal: AbortSignal) {
  const first = await load(undefined, signal);
  const pages = [first];
  let { nextCursor } = first;
  while (pages.length < count && nextCursor !== null) {
    const next = await load(nextCursor, signal);
    pages.push(next);
    nextCursor = next.nextCursor;
  }
  return { items: pages.flatMap(({ items }) => items), pageCount: pages.length, nextCursor };
}
