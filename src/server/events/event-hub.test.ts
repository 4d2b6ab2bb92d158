import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RouteContext } from "../../api/index.ts";
import { EventHub, type HubEvent } from "./event-hub.ts";

const lookMs = 2_000;

/** A hub over one topic with one group that a test may change. */
function open(group: { oldestAgeMs: number; messages: number }) {
  const topics = {
    listTopics: vi.fn(async () => [{ name: "t" }]),
    listGroups: async () => [{ topic: "t", ...group }],
  };
  const hub = new EventHub({ tallyman: { topics } } as unknown as RouteContext);
  const events: HubEvent[] = [];
  hub.subscribe(["topics"], (event) => events.push(event) > 0);
  return { hub, events, looks: () => topics.listTopics.mock.calls.length };
}

describe("EventHub", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("tells what changes, and not that it has grown older", async () => {
    const group = { oldestAgeMs: 1, messages: 5 };
    const { hub, events, looks } = open(group);
    await vi.advanceTimersByTimeAsync(0);
    expect(events).toHaveLength(1);
    group.oldestAgeMs = 2_001;
    await vi.advanceTimersByTimeAsync(lookMs);
    expect(looks()).toBe(2);
    expect(events).toHaveLength(1);
    Object.assign(group, { oldestAgeMs: 4_001, messages: 6 });
    await vi.advanceTimersByTimeAsync(lookMs);
    expect(events).toHaveLength(2);
    expect(JSON.parse(events[1]?.data ?? "")).toMatchObject([{ groups: [group] }]);
    await hub.close();
  });
});
