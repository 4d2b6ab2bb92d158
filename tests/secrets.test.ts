import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ServiceManager, Tallyman } from "../src/app/index.ts";
import { TallymanClient } from "../src/client/index.ts";
import { SimulationMetadataSchema } from "../src/contracts/index.ts";
import { configureLogging, currentLogging, type LogRecord } from "../src/runtime/index.ts";
import { S3Storage } from "../src/storage/index.ts";
import { setup } from "../src/testing/index.ts";
import { NatsTopics } from "../src/topics/index.ts";
import { runHere } from "./kit/cli.ts";
import { configOf } from "./kit/services.ts";

/** One for each place where people put secrets; none may be seen anywhere else. */
const canaries = {
  database: "canary-d4tabase",
  listen: "canary-l1sten",
  s3: "canary-s3cret",
  nats: "canary-n4ts",
  token: `tm_0123456789ab_${"canary".repeat(8).slice(0, 43)}`,
} as const;

const nowhere = "127.0.0.1:1";

function configText(databaseUrl: string, extra = ""): string {
  return `
database: { url: "${databaseUrl}", listenUrl: "postgres://u:${canaries.listen}@${nowhere}/x" }
resources:
  files:
    className: S3Storage
    options: { bucket: b, endpoint: "http://${nowhere}", accessKeyId: id, secretAccessKey: ${canaries.s3} }
  batch-topic: { className: NatsTopic, options: { servers: "nats://u:${canaries.nats}@${nowhere}" } }
  tables: { className: PostgresDatabase }
services:
  dummy:
    className: DummyIndexer
    resources: { storage: storage-read:files, topic: "topic-read:batch-topic?consumerGroup=dummy", coordinator: db-coordinator:tables, metadata: db-meta-read:tables }
    options: { runId: run-1 }
${extra}`;
}

function expectNoCanary(where: string, text: string): void {
  const seen = Object.entries(canaries).filter(([, canary]) => text.includes(canary));
  expect({ where, seen: seen.map(([name]) => name) }).toEqual({ where, seen: [] });
}

describe("secrets", () => {
  it("are in nothing that a command line prints, however it ends and however much it tells", async () => {
    await using t = await setup();
    const folder = await t.temporaryFolder();
    const configs = {
      right: t.url,
      wrong: t.url.replace(/:[^:@]+@/, `:${canaries.database}@`),
      unreachable: `postgres://u:${canaries.database}@${nowhere}/x`,
      unparsable: `postgres://u:${canaries.database}@host:port/x`,
      foreign: `mysql://u:${canaries.database}@${nowhere}/x`,
      odd: `postgres://u:p@ss/${canaries.database}@${nowhere}/x`,
    };
    const extras = { fine: "", broken: "  : [", unknown: "  secretz: 1\nunknown: 2\n" };
    const lines = [
      "config print",
      "config print --json",
      "doctor",
      "doctor --json",
      "migrate",
      "run list",
      "tsq list",
    ];
    for (const [name, url] of Object.entries(configs))
      for (const [kind, extra] of Object.entries(extras)) {
        const file = join(folder, `${name}-${kind}.yaml`);
        await writeFile(file, configText(url, extra));
        for (const line of kind === "fine" ? lines : lines.slice(0, 3)) {
          const { text, errors } = await runHere(...line.split(" "), "--verbose", "--config", file);
          expectNoCanary(`${line} with a database that is ${name} and a file that is ${kind}`, text + errors);
          expect(text + errors).not.toBe("");
          expect(text + errors).not.toContain(new URL(t.url).password);
        }
      }
  });

  it("are in nothing that a command line prints about a token that a server refuses, or that is not there", async () => {
    const before = process.env.TALLYMAN_TOKEN;
    process.env.TALLYMAN_TOKEN = canaries.token;
    try {
      for (const line of ["tsq list", "batch list", "config print"]) {
        const { text, errors } = await runHere(...line.split(" "), "--verbose", "--url", `http://${nowhere}`);
        expectNoCanary(line, text + errors);
      }
      const { text, errors } = await runHere("tsq", "list", "--url", `http://u:${canaries.nats}@${nowhere}`);
      expectNoCanary("a URL with a password", text + errors);
    } finally {
      if (before === undefined) delete process.env.TALLYMAN_TOKEN;
      else process.env.TALLYMAN_TOKEN = before;
    }
  });

  it("are in no error of the library, its details, its stack or its causes", async () => {
    await using t = await setup();
    const s3 = t.use(
      new S3Storage({
        bucket: "b",
        endpoint: `http://${nowhere}`,
        accessKeyId: "id",
        secretAccessKey: canaries.s3,
      }),
    );
    const wrong = t.url.replace(/:[^:@]+@/, `:${canaries.database}@`);
    const attempts: Record<string, () => Promise<unknown>> = {
      "a refused log-in": () => Tallyman.connect({ database: wrong }),
      "no server": () => Tallyman.connect({ database: `postgres://u:${canaries.database}@${nowhere}/x` }),
      "no URL": () => Tallyman.connect({ database: `postgres://u:${canaries.database}@h:p/x` }),
      "no bucket": () => s3.listRunIds(),
      "no bucket to write to": () =>
        s3.writeMessage("run-1/metadata.pb", SimulationMetadataSchema, create(SimulationMetadataSchema)),
      "no NATS": () => NatsTopics.connect({ servers: `nats://u:${canaries.nats}@${nowhere}` }),
      "no NATS by token": () => NatsTopics.connect({ servers: `nats://${canaries.nats}@${nowhere}` }),
      "a server's URL with a password": async () =>
        new TallymanClient({ url: `http://u:${canaries.nats}@${nowhere}` }),
      "no HTTP server": () =>
        new TallymanClient({ url: `http://${nowhere}`, token: canaries.token }).call("GET /api/overview"),
    };
    for (const [what, attempt] of Object.entries(attempts)) {
      const error = await attempt().then(
        () => expect.fail(`${what} did not fail`),
        (thrown: unknown) => thrown,
      );
      expectNoCanary(what, inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error));
    }
  });

  it("are in no log at the level of debug, nor in what a manager says about its services", async () => {
    await using t = await setup();
    const { records, restore } = captureLogs();
    try {
      const tallyman = t.use(await Tallyman.connect({ database: t.url }));
      const manager = t.use(new ServiceManager(tallyman, configOf(configText(t.url))));
      await manager.start();
      await expect.poll(() => manager.status()[0]?.state, { timeout: 20_000 }).toBe("ERROR");
      const said = inspect([manager.status(), tallyman.metrics.collect(), records], { depth: 10 });
      expect(records.length).toBeGreaterThan(0);
      expectNoCanary("logs and states", said);
      expectNoCanary("logs and states", said.replaceAll("\n", ""));
    } finally {
      restore();
    }
  });
});

/** Everything that is logged from now on, at every level. */
function captureLogs(): { records: LogRecord[]; restore(): void } {
  const before = currentLogging();
  const records: LogRecord[] = [];
  configureLogging({ level: "debug", sink: (record) => records.push(record) });
  return { records, restore: () => configureLogging(before) };
}
