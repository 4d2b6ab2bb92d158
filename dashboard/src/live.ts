import { computed, effect, signal } from "@preact/signals";
import { type Attention, attention } from "./attention.ts";
import { readSession } from "./session.ts";

/** Told of each event of a topic, with the data it carries. */
type Listener = (data: unknown) => void;

/** How the page is connected: a person must see whether the figures are fresh. */
export type Connection = "connecting" | "live" | "paused" | Exclude<Attention, "watched"> | "lost";

/** A source that the server has refused is asked for again after this time. */
const retryMs = 2_000;

const listeners = new Map<string, Set<Listener>>();
const isOpen = signal(false);
const hasFailed = signal(false);

/** Whether the viewer has stopped the live updates. */
export const isPaused = signal(false);

/** The state of the one connection that all screens share. */
export const connection = computed<Connection>(() => {
  if (isPaused.value) return "paused";
  if (attention.value !== "watched") return attention.value;
  if (isOpen.value) return "live";
  return hasFailed.value ? "lost" : "connecting";
});

let source: EventSource | undefined;
let openTopics = "";
let isScheduled = false;

effect(() => {
  void isPaused.value;
  void attention.value;
  scheduleOpening();
});

/** Calls the listener at each event of the topic until the returned function is called. */
export function listen(topic: string, listener: Listener): () => void {
  const all = listeners.get(topic) ?? new Set();
  listeners.set(topic, all.add(listener));
  scheduleOpening();
  return () => {
    all.delete(listener);
    if (all.size === 0) listeners.delete(topic);
    scheduleOpening();
  };
}

/** Screens come and go within one turn: the source is opened once, for all that they want. */
function scheduleOpening(): void {
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(() => {
    isScheduled = false;
    openSource();
  }, 0);
}

function openSource(): void {
  const isWanted = !isPaused.value && attention.value === "watched";
  const topics = isWanted ? [...listeners.keys()].sort().join(",") : "";
  if (topics === openTopics) return;
  source?.close();
  source = undefined;
  openTopics = topics;
  if (topics === "") {
    isOpen.value = false;
    return;
  }
  source = connect(topics);
}

function connect(topics: string): EventSource {
  const opened = new EventSource(`/api/events?topics=${encodeURIComponent(topics)}`);
  opened.onopen = () => {
    isOpen.value = true;
    hasFailed.value = false;
  };
  opened.onerror = () => {
    isOpen.value = false;
    hasFailed.value = true;
    if (opened.readyState !== EventSource.CLOSED) return;
    // A source does not say why it was refused: the session may have ended.
    void readSession();
    setTimeout(() => reconnect(opened), retryMs);
  };
  for (const topic of topics.split(","))
    opened.addEventListener(topic, ({ data }) => tell(topic, JSON.parse(data as string)));
  return opened;
}

/** The browser itself tries again after a lost connection, but not after a refusal. */
function reconnect(refused: EventSource): void {
  if (source !== refused) return;
  openTopics = "";
  openSource();
}

function tell(topic: string, data: unknown): void {
  for (const listener of listeners.get(topic) ?? []) listener(data);
}
