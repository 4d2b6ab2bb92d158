import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { listen } from "./live.ts";

/** What a screen has of its data. */
export interface Loaded<T> {
  /** The last answer; kept while the next one is on its way. */
  readonly data: T | undefined;
  readonly error: unknown;
  /** Asks again now. */
  reload(): void;
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
  const reload = useCallback(() => {
    asked.current?.abort();
    const attempt = new AbortController();
    asked.current = attempt;
    question.current(attempt.signal).then(
      (data) => attempt.signal.aborted || setState({ key, data, error: undefined }),
      (error: unknown) =>
        attempt.signal.aborted ||
        setState((before) => ({ key, data: before.key === key ? before.data : undefined, error })),
    );
  }, [key]);
  useEffect(() => {
    reload();
    return () => asked.current?.abort();
  }, [reload]);
  useReloads(reload, topics);
  const isOfKey = state.key === key;
  return { data: isOfKey ? state.data : undefined, error: isOfKey ? state.error : undefined, reload };
}

/** Reloads at events, at most once per interval; the last event is never left out. */
function useReloads(reload: () => void, topics: readonly string[]): void {
  const names = topics.join(",");
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lastMs = performance.now();
    const onEvent = () => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          lastMs = performance.now();
          reload();
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
  /** Reads the next page; undefined when there is none. */
  readonly more: (() => Promise<void>) | undefined;
}

interface Rest<Item> {
  readonly key: string;
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

/**
 * Pages of a list; the first is kept fresh, further ones are read on demand and then stay, until the list has become
 * shorter than a page or somebody reloads it.
 */
export function usePages<Item>(
  key: string,
  load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page<Item>>,
  { topics = [], idOf }: { topics?: readonly string[]; idOf(item: Item): string },
): Pages<Item> {
  const first = useData(key, (signal) => load(undefined, signal), topics);
  const [loaded, setLoaded] = useState<Rest<Item>>();
  const firstCursor = first.data?.nextCursor ?? null;
  const rest = loaded?.key === key && firstCursor !== null ? loaded : undefined;
  const nextCursor = rest ? rest.nextCursor : firstCursor;
  const reload = () => {
    setLoaded(undefined);
    first.reload();
  };
  const more = async () => {
    const next = await load(nextCursor ?? undefined);
    setLoaded({ key, items: [...(rest?.items ?? []), ...next.items], nextCursor: next.nextCursor });
  };
  return {
    items: first.data && withoutRepeats([...first.data.items, ...(rest?.items ?? [])], idOf),
    error: first.error,
    reload,
    more: nextCursor === null ? undefined : more,
  };
}

/** New items push old ones from the first page onto the second, which was read before. */
function withoutRepeats<Item>(items: readonly Item[], idOf: (item: Item) => string): readonly Item[] {
  return [...new Map(items.toReversed().map((item) => [idOf(item), item])).values()].toReversed();
}
