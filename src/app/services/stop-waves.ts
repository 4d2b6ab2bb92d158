import type { ServiceConfig } from "../config/index.ts";

type Bindings = Readonly<Record<string, Pick<ServiceConfig, "resources">>>;

/**
 * In which order services stop: all at once, but for queues inside the process. What a service still puts in
 * such a queue on its way out is lost with the process unless somebody takes it, so those that take stop in a
 * later wave than those that put. Services that feed each other in a circle stop together, last.
 */
export function stopWaves(services: Bindings): readonly (readonly string[])[] {
  const waves: string[][] = [];
  let left = Object.keys(services);
  while (left.length > 0) {
    const fed = new Set(left.flatMap((name) => queuesOf(services, name, "queue-out")));
    const isFed = (name: string) => queuesOf(services, name, "queue-in").some((queue) => fed.has(queue));
    const unfed = left.filter((name) => !isFed(name));
    const wave = unfed.length > 0 ? unfed : left;
    waves.push(wave);
    left = left.filter((name) => !wave.includes(name));
  }
  return waves;
}

function queuesOf(services: Bindings, name: string, usage: "queue-in" | "queue-out"): string[] {
  const uris = Object.values(services[name]?.resources ?? {}).flat();
  return uris.filter((uri) => uri.usage === usage).map(({ resource }) => resource);
}
