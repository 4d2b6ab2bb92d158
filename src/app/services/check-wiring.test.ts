import { describe, expect, it } from "vitest";
import { configOf, tallymanWithoutDatabase } from "../../../tests/kit/services.ts";
import { BatchInfoSchema } from "../../contracts/index.ts";
import { isTallymanError } from "../../errors/index.ts";
import { Service } from "../../runtime/index.ts";
import {
  builtInResources,
  builtInServices,
  optionalPort,
  port,
  ServiceManager,
  serviceType,
  topicPort,
  wiringProblems,
} from "../index.ts";

class Auditor extends Service {
  protected override async runOnce(): Promise<void> {}
}

const resourceLines = `
resources:
  ticks: { className: FileSystemStorage }
  batch-topic: { className: PostgresTopic }
  index: { className: PostgresDatabase }
`;

function types() {
  const services = builtInServices().registerServiceType(
    "Auditor",
    serviceType(Auditor, {
      storage: port("storage-read"),
      topic: topicPort("topic-read", BatchInfoSchema),
      letters: optionalPort(port("dlq")),
      coordinator: optionalPort(port("db-coordinator")),
    }),
  );
  return { services, resources: builtInResources() };
}

function messages(servicesText: string, resourcesText = resourceLines): string[] {
  return wiringProblems(configOf(`${resourcesText}\nservices:\n${servicesText}`), types()).map(
    ({ path, message }) => `${path.map(String).join(".")}: ${message}`,
  );
}

const bound = "storage: storage-read:ticks, topic: topic-read:batch-topic?consumerGroup=a";

describe("wiringProblems", () => {
  it("finds nothing wrong with a service whose optional ports are not bound", () => {
    expect(messages(`  a: { className: Auditor, resources: { ${bound} } }`)).toEqual([]);
  });

  it("names the nearest class, and all", () => {
    expect(messages("  a: { className: Auditer }")[0]).toMatch(
      /^services\.a\.className: unknown service class 'Auditer'\. Did you mean 'Auditor'\? Known: .*Auditor/,
    );
  });

  it("is clear about a class of another system", () => {
    const topic =
      "resources: { t: { className: org.evochora.datapipeline.resources.topics.H2TopicResource } }";
    expect(messages("", topic)).toEqual([
      "resources.t.className: unknown resource class 'H2TopicResource'. Known: FileSystemStorage, S3Storage, PostgresTopic, NatsTopic, TickQueue, MetadataQueue, InMemoryRetryTracker, PostgresDatabase.",
    ]);
  });

  it("names service, port and usage of a port that is missing", () => {
    expect(messages("  a: { className: Auditor, resources: { storage: storage-read:ticks } }")).toEqual([
      "services.a.resources.topic: Auditor needs this port: bind it with topic-read:<resource>.",
    ]);
  });

  it.each([
    [
      "storage: storage-write:ticks",
      "Auditor takes storage-read:<resource> here, but it is bound with storage-write:ticks.",
    ],
    [
      "storage: storage-read:index",
      "index is a PostgresDatabase, which can't be used as storage-read. It offers: db-meta-read,",
    ],
    [
      "storage: [storage-read:ticks, storage-read:ticks]",
      "Auditor takes one resource here, but 2 are bound.",
    ],
  ])("refuses %s", (binding, message) => {
    const text = `  a: { className: Auditor, resources: { ${binding}, topic: "topic-read:batch-topic?secret=x" } }`;
    const [first, ...rest] = messages(text);
    expect(first).toContain(`services.a.resources.storage: ${message}`);
    expect(rest).toEqual([]);
    expect(first).not.toContain("secret");
  });

  it("refuses a queue of another kind", () => {
    const queue = "resources: { q: { className: MetadataQueue }, s: { className: FileSystemStorage } }";
    const text =
      "  p: { className: PersistenceService, resources: { queue: queue-in:q, storage: storage-write:s } }";
    expect(messages(text, queue)).toEqual([
      "services.p.resources.queue: PersistenceService takes a TickQueue here, but q is a MetadataQueue.",
    ]);
  });

  it("suggests the port that was probably meant", () => {
    const [problem] = messages(
      `  a: { className: Auditor, resources: { ${bound}, leters: dlq:batch-topic } }`,
    );
    expect(problem).toBe(
      "services.a.resources.leters: Auditor has no port 'leters'. Did you mean 'letters'?",
    );
  });

  it("keeps the names of Tallyman's own services", () => {
    expect(messages("  topic-retention: { className: Auditor }")).toEqual([
      "services.topic-retention: this name is taken by a service of Tallyman's own.",
    ]);
  });
});

describe("registries", () => {
  it("are refused by the manager with all problems at once, before anything is opened", () => {
    const config = configOf("resources: { r: { type: Rr } }\nservices: { a: { type: Aa }, b: { type: Bb } }");
    const make = () => new ServiceManager(tallymanWithoutDatabase(), config, types());
    expect(make).toThrowError(/3 problems in the configuration/);
    expect(make).toThrowError(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });

  it("take a name once, and only names", () => {
    const { services } = types();
    const codeOf = (className: string) => {
      try {
        services.registerServiceType(className, { ports: {}, create: () => new Auditor("a") });
      } catch (error) {
        return isTallymanError(error) ? error.code : error;
      }
      return undefined;
    };
    expect([codeOf("Auditor"), codeOf("com.x.Auditor"), codeOf("Other")]).toEqual([
      "INVALID_STATE",
      "INVALID_OPTION",
      undefined,
    ]);
  });

  it("of one manager do not show in another", () => {
    types();
    expect(builtInServices().find("Auditor")).toBeUndefined();
  });
});
