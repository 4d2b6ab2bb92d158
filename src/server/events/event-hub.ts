import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { RouteContext } from "../../api/index.ts";
import { logger } from "../../runtime/index.ts";
import { watchableOf } from "./topics.ts";

const log = logger("server.events");

/** Things watched at once: each costs a statement per interval. */
const watchedMax = 200;

/** One state of a watched thing. */
export interface HubEvent {
  /** `<server>:<number>`: what a client that comes back names. */
  readonly id: string;
  readonly topic: string;
  /** JSON text. */
  readonly data: string;
}

/** Gets events; returns false when it can't take more and is to be forgotten. */
export type Subscriber = (event: HubEvent) => boolean;

interface Watched {
  readonly subscribers: Set<Subscriber>;
  readonly timer: NodeJS.Timeout;
  last: HubEvent | undefined;
  /** What the last event was about; see {@link Watchable.newsIn}. */
  news: string | undefined;
  isLooking: boolean;
}

/**
 * Looks at what somebody watches, once for all who do, and tells them when it has changed. An event is the whole
 * state of its topic, so whoever missed some needs only the last: that is what a client gets that comes back.
 */
export class EventHub {
  readonly #context: RouteContext;
  readonly #server = randomUUID().slice(0, 8);
  readonly #watched = new Map<string, Watched>();
  readonly #closing = new AbortController();
  #number = 0;

  constructor(context: RouteContext) {
    this.#context = context;
    // Every stream waits for it.
    setMaxListeners(0, this.#closing.signal);
  }

  /** How many clients there are, by topic. */
  get subscriptions(): number {
    return [...this.#watched.values()].reduce((sum, { subscribers }) => sum + subscribers.size, 0);
  }

  /** Whether these topics exist, and there is room to watch them. */
  accepts(topics: readonly string[]): boolean {
    const isNew = (topic: string) => !this.#watched.has(topic);
    if (this.#watched.size + topics.filter(isNew).length > watchedMax) return false;
    return topics.every((topic) => watchableOf(topic, this.#context) !== undefined);
  }

  /**
   * Tells of each change of these topics, beginning with what they are now.
   *
   * @param lastId the last event that the client has; what it has is not told again
   * @returns ends the subscription
   */
  subscribe(topics: readonly string[], subscriber: Subscriber, lastId?: string): () => void {
    for (const topic of topics) {
      const watched = this.#watch(topic);
      watched.subscribers.add(subscriber);
      if (watched.last && this.#isNewer(watched.last, lastId)) subscriber(watched.last);
      else if (!watched.last) void this.#look(topic, watched);
    }
    return () => {
      for (const topic of topics) this.#forget(topic, subscriber);
    };
  }

  /** Aborted when all watching ends: whoever holds a connection for it lets go, or a server could not stop. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Ends all watching. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { timer } of this.#watched.values()) clearInterval(timer);
    this.#watched.clear();
  }

  #isNewer({ id }: HubEvent, lastId = ""): boolean {
    const [server, number] = lastId.split(":");
    return server !== this.#server || Number(id.split(":")[1]) > Number(number);
  }

  #watch(topic: string): Watched {
    const known = this.#watched.get(topic);
    if (known) return known;
    const intervalMs = watchableOf(topic, this.#context)?.intervalMs ?? 0;
    const timer = setInterval(() => void this.#look(topic, watched), intervalMs);
    timer.unref();
    const watched: Watched = {
      subscribers: new Set(),
      timer,
      last: undefined,
      news: undefined,
      isLooking: false,
    };
    this.#watched.set(topic, watched);
    return watched;
  }

  #forget(topic: string, subscriber: Subscriber): void {
    const watched = this.#watched.get(topic);
    watched?.subscribers.delete(subscriber);
    if (!watched || watched.subscribers.size > 0) return;
    clearInterval(watched.timer);
    this.#watched.delete(topic);
  }

  async #look(topic: string, watched: Watched): Promise<void> {
    if (watched.isLooking || this.closing.aborted) return;
    watched.isLooking = true;
    try {
      const watchable = watchableOf(topic, this.#context);
      const data = await watchable?.read();
      const news = watchable?.newsIn(data);
      if (news !== watched.news) this.#tell(topic, watched, JSON.stringify(data));
      watched.news = news;
    } catch (error) {
      log.debug(`Can't look at ${topic} now`, { reason: String(error) });
    } finally {
      watched.isLooking = false;
    }
  }

  #tell(topic: string, watched: Watched, data: string): void {
    const event = { id: `${this.#server}:${++this.#number}`, topic, data };
    watched.last = event;
    for (const subscriber of watched.subscribers)
      if (!subscriber(event)) watched.subscribers.delete(subscriber);
  }
}
