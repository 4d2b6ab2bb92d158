import type { Caller } from "../client/index.ts";
import { TallymanError } from "../errors/index.ts";
import type { GroupInfo, RedriveOptions, SeekTarget, TopicInfo, Topics } from "../topics/index.ts";
import { given } from "./command-options.ts";

/** What operators do with topics, on PostgreSQL's or on those of another engine. */
export type OperatedTopics = Pick<
  Topics,
  | "listTopics"
  | "listGroups"
  | "seekGroup"
  | "pauseGroup"
  | "resumeGroup"
  | "redrive"
  | "setRetention"
  | "deleteGroup"
>;

/** The topics behind the API. */
export class ApiTopics implements OperatedTopics {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async listTopics(): Promise<TopicInfo[]> {
    const topics = await this.#caller.call("GET /api/topics");
    return topics.map(({ deadLetterTopics: _letters, groups, ...topic }) => ({
      ...topic,
      groups: groups.length,
    }));
  }

  async listGroups(topic?: string, { runId }: { readonly runId?: string } = {}): Promise<GroupInfo[]> {
    const query = given({ runId });
    const topics = await this.#caller.call("GET /api/topics", { query });
    const wanted = topics.filter(({ name }) => topic === undefined || name === topic);
    if (wanted.length === 0 && topic !== undefined)
      throw new TallymanError("TOPIC_NOT_FOUND", `There is no topic '${topic}'.`, { details: { topic } });
    return wanted.flatMap(({ name, groups }) =>
      groups.map((group) => ({ topic: name, ...group, createdAt: new Date(group.createdAt) })),
    );
  }

  async seekGroup(topic: string, group: string, target: SeekTarget): Promise<void> {
    const params = { topic, group };
    const body = typeof target === "string" ? { to: target } : placeOf(target);
    await this.#caller.call("POST /api/topics/:topic/groups/:group/seek", { params, body });
  }

  async pauseGroup(topic: string, group: string): Promise<void> {
    await this.#caller.call("POST /api/topics/:topic/groups/:group/pause", { params: { topic, group } });
  }

  async resumeGroup(topic: string, group: string): Promise<void> {
    await this.#caller.call("POST /api/topics/:topic/groups/:group/resume", { params: { topic, group } });
  }

  async redrive(topic: string, options: RedriveOptions = {}): Promise<number> {
    const body = { ...options };
    const { changed } = await this.#caller.call("POST /api/topics/:topic/redrive", {
      params: { topic },
      body,
    });
    return changed;
  }

  async setRetention(topic: string, retentionMs: number | null): Promise<void> {
    await this.#caller.call("PUT /api/topics/:topic/retention", { params: { topic }, body: { retentionMs } });
  }

  async deleteGroup(topic: string, group: string): Promise<void> {
    await this.#caller.call("DELETE /api/topics/:topic/groups/:group", { params: { topic, group } });
  }
}

function placeOf(target: Exclude<SeekTarget, string>): { position: number } | { time: string } {
  return "time" in target ? { time: target.time.toISOString() } : target;
}
