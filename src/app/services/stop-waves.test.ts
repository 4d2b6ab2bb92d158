import { expect, it } from "vitest";
import type { ResourceUri } from "../config/index.ts";
import { stopWaves } from "./stop-waves.ts";

/** `>q` puts into the queue q, `<q` takes from it. */
function waves(services: Record<string, string>): string[] {
  const uri = (text: string): ResourceUri => ({
    usage: text.startsWith(">") ? "queue-out" : "queue-in",
    resource: text.slice(1),
    parameters: {},
  });
  const bound = Object.entries(services).map(([name, queues]) => [
    name,
    { resources: { queues: queues.split(" ").filter(Boolean).map(uri) } },
  ]);
  return stopWaves(Object.fromEntries(bound)).map((wave) => wave.join(" "));
}

it.each([
  [{}, []],
  [{ a: "", b: "", c: "" }, ["a b c"]],
  [
    { writer1: "<ticks", writer2: "<ticks", engine: ">ticks", indexer: "" },
    ["engine indexer", "writer1 writer2"],
  ],
  [{ c: "<q2", b: "<q1 >q2", a: ">q1" }, ["a", "b", "c"]],
  [{ a: ">q1 <q2", b: "<q1 >q2", c: "", d: "<q1" }, ["c", "a b d"]],
])("stops those that put before those that take: %j", (services, expected) => {
  expect(waves(services as Record<string, string>)).toEqual(expected);
});
