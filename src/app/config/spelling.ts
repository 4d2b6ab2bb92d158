/** `heartbeat-interval` and `heartbeatInterval` both become `heartbeatInterval`. */
export function camelCase(name: string): string {
  return name.replace(/-+([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** `topicRead` and `topic-read` both become `topic-read`. */
export function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * The known name that a reference means: the same text, or else the same name in the other of the
 * two spellings (`batchTopic` for `batch-topic`).
 */
export function matchSpelling(name: string, known: Iterable<string>): string | undefined {
  const names = [...known];
  return names.includes(name) ? name : names.find((candidate) => camelCase(candidate) === camelCase(name));
}
