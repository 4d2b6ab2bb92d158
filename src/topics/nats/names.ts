/**
 * How topics, runs and groups are named in JetStream. Topic, group and run names contain no '.', '*' or
 * '>', and none begins with '_', so that these names can't collide.
 */
const prefix = "tallyman";
const noRun = "_";
const streamPrefix = "TALLYMAN-T-";

/** The stream that holds the state of all groups: the last message of each subject counts. */
export const groupStream = "TALLYMAN-GROUPS";
export const groupStreamSubject = `${prefix}.group.>`;

/** A message for one group alone: a re-driven one. Readers of other groups pass over it. */
export const onlyGroupHeader = "Tallyman-Only-Group";
export const keyHeader = "Tallyman-Key";
/** On a dead letter: the group that gave the message up. */
export const originGroupHeader = "Tallyman-Origin-Group";

export function streamOf(topic: string): string {
  return `${streamPrefix}${topic}`;
}

/** The topic of a stream; undefined for a stream that is none of ours. */
export function topicOf(stream: string): string | undefined {
  return stream.startsWith(streamPrefix) ? stream.slice(streamPrefix.length) : undefined;
}

export function subjectOf(topic: string, runId: string): string {
  return `${prefix}.topic.${topic}.${runId === "" ? noRun : runId}`;
}

/** Every run of a topic. */
export function subjectsOf(topic: string): string {
  return `${prefix}.topic.${topic}.*`;
}

/** The run of a message; empty for one sent without. */
export function runOf(subject: string): string {
  const token = subject.slice(subject.lastIndexOf(".") + 1);
  return token === noRun ? "" : token;
}

export function groupSubject(topic: string, group: string): string {
  return `${prefix}.group.${topic}.${group}`;
}

export function groupOf(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}

/** A durable consumer serves one group in one run, from one seek to the next. */
export function consumerOf(group: string, epoch: number, runId: string): string {
  return `${consumerPrefix(group, epoch)}${runId === "" ? noRun : runId}`;
}

/** How the consumers of a group begin between two seeks. */
export function consumerPrefix(group: string, epoch: number): string {
  return `${group}=${epoch}=`;
}
