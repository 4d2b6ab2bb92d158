import { z } from "zod";
import { runIdPatternText } from "../../database/index.ts";
import { namePattern } from "./resource-uri.ts";

/** Levels of the log, most talkative first. */
const logLevels = ["debug", "info", "warn", "error"] as const;

const dayMs = 86_400_000;
const portMax = 65_535;

const milliseconds = (defaultMs: number) => z.int().min(1).max(dayMs).default(defaultMs);

const name = z.string().regex(namePattern, {
  error: "not a usable name. Begin with a letter; use letters, digits, '-' and '_'",
});

const className = z
  .string()
  .regex(/^[A-Za-z][\w.-]*$/, { error: "not a class name. Write for example DummyIndexer" })
  .optional();

const oneClass = {
  path: ["className"],
  error: "required, once. Name the class with className, or with its synonym type",
};

const options = z
  .record(z.string(), z.unknown())
  .default({})
  .describe("Options of the class, checked by the class itself.");

const embedded = z.strictObject({
  folder: z
    .string()
    .min(1)
    .default(".tallyman/postgres")
    .describe("Folder of the embedded server; relative to the configuration file."),
  port: z
    .int()
    .min(1)
    .max(portMax)
    .optional()
    .describe("Port of the embedded server; a free one when left out."),
});

const database = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .optional()
      .describe(
        "PostgreSQL to use: postgres://user:password@host:5432/name. Without it, the embedded server.",
      ),
    embedded: embedded.optional().describe("The embedded PostgreSQL, used when no url is given."),
    schema: z
      .string()
      .regex(/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/, {
        error:
          "not a usable schema name. Use at most 63 lower-case letters, digits and '_', not beginning with a digit or pg_",
      })
      .default("tallyman")
      .describe("Schema of Tallyman's own tables."),
    listenUrl: z
      .string()
      .min(1)
      .optional()
      .describe("Direct connection for LISTEN when url goes through PgBouncer in transaction mode."),
    maxPoolSize: z.int().min(1).max(1000).default(10).describe("Most connections that one process opens."),
  })
  .prefault({})
  .describe("Where the tables live: a server, or the embedded PostgreSQL.");

const settings = z
  .strictObject({
    logLevel: z.enum(logLevels).default("info").describe("Least severe level that is logged."),
    metricsWindowSeconds: z
      .int()
      .min(1)
      .max(3600)
      .default(5)
      .describe(
        "Length of the sliding window for rates and percentiles of the database and of what works on it, in seconds.",
      ),
    stopTimeoutMs: milliseconds(30_000).describe(
      "How long each service may take to stop, its final flush included, in milliseconds.",
    ),
    topicSweepIntervalMs: milliseconds(60_000).describe(
      "Time between two sweeps of topics whose messages have a retention, in milliseconds.",
    ),
  })
  .prefault({})
  .describe("Settings of the process.");

const server = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .default("127.0.0.1")
      .describe("Address to listen on; one that other machines reach only while there are access tokens."),
    port: z.int().min(0).max(portMax).default(8082).describe("Port of the HTTP API; 0 picks a free one."),
    publicUrl: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe(
        "Address by which others reach it through a proxy that speaks TLS; everybody is asked for a token then.",
      ),
    requestTimeoutMs: z
      .int()
      .min(1)
      .optional()
      .describe("Longest time until a whole request is there, an import too; 5 minutes when left out."),
    bodyBytesMax: z
      .int()
      .min(1)
      .optional()
      .describe("Largest body of a request, in bytes; 1 MiB when left out."),
    importBytesMax: z
      .int()
      .min(1)
      .optional()
      .describe("Largest body of an import of commands, in bytes; 256 MiB when left out."),
    requestsPerSecondMax: z
      .int()
      .min(1)
      .optional()
      .describe("Requests that one address may send per second; 10,000 when left out."),
    redactedFields: z
      .array(z.string().min(1))
      .optional()
      .describe(
        "Fields of payloads that nobody is shown, by name; those with secret-looking names never are.",
      ),
  })
  .prefault({})
  .describe("The HTTP API and the dashboard.");

/** The first three keys keep the names that operators of the coordinator know; all are milliseconds. */
const coordinator = z
  .strictObject({
    heartbeatInterval: milliseconds(30_000).describe("Time between two heartbeats, in milliseconds."),
    heartbeatTimeout: milliseconds(60_000).describe(
      "Silence after which a node counts as failed, in milliseconds; at least twice heartbeatInterval.",
    ),
    leaderElectionInterval: milliseconds(10_000).describe(
      "Time between two attempts to become leader, in milliseconds.",
    ),
    leaderLease: milliseconds(10_000).describe(
      "How long leadership lasts without a renewal, in milliseconds; renewed every third of it.",
    ),
  })
  .refine((value) => value.heartbeatTimeout >= 2 * value.heartbeatInterval, {
    path: ["heartbeatTimeout"],
    error: "must be at least twice heartbeatInterval, or one late heartbeat fails a healthy node",
  })
  .prefault({})
  .describe("Leader election and health of the fleet.");

const resource = z
  .strictObject({
    className: className.describe("Class of the resource; a package before the last dot is ignored."),
    type: className.describe("The same as className."),
    options,
  })
  .refine(hasOneClass, oneClass)
  .describe("One resource.");

const resourceUris = z.union([z.string(), z.array(z.string()).min(1)], {
  error: "expected a resource URI such as storage-read:tick-storage, or a list of them",
});

const restart = z
  .strictObject({
    policy: z
      .enum(["never", "on-error"])
      .default("on-error")
      .describe("Whether a service that fails is started again."),
    maxRestarts: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(5)
      .describe("Restarts in a row before the service is left in ERROR."),
    backoffMs: milliseconds(1_000).describe(
      "Delay before the first restart, in milliseconds; it doubles from restart to restart.",
    ),
    maxBackoffMs: milliseconds(60_000).describe("No delay is longer than this, in milliseconds."),
    healthyAfterMs: milliseconds(60_000).describe(
      "A service that ran this long is healthy again: its restarts are counted anew. In milliseconds.",
    ),
  })
  .prefault({})
  .describe("What happens when the service fails.");

const service = z
  .strictObject({
    className: className.describe("Class of the service; a package before the last dot is ignored."),
    type: className.describe("The same as className."),
    resources: z
      .record(name, resourceUris)
      .default({})
      .describe(
        "Ports of the service, each bound to a resource by usage:resource?param=value, or to several.",
      ),
    options,
    autostart: z
      .boolean()
      .default(true)
      .describe("Whether the service starts with the others; if not, start it by name."),
    restart,
  })
  .refine(hasOneClass, oneClass)
  .describe("One service.");

/** The configuration file. Every key that Tallyman understands is here, with default and description. */
export const configSchema = z.strictObject({
  runId: z
    .string()
    .regex(new RegExp(runIdPatternText), {
      error: "not a run id. Use at most 100 letters, digits, '-' and '_', beginning with a letter or digit",
    })
    .optional()
    .describe("Simulation run that every service works on unless its own options name another."),
  database,
  settings,
  server,
  scheduler: z.strictObject({ coordinator }).prefault({}).describe("The scheduler."),
  resources: z.record(name, resource).default({}).describe("Resources by name."),
  services: z.record(name, service).default({}).describe("Services by name."),
});

/** What {@link configSchema} accepts becomes this, with all defaults filled in. */
export type ParsedConfig = z.output<typeof configSchema>;

/** The embedded server's settings when the file has none. */
export const embeddedDefaults = embedded.parse({});

function hasOneClass(value: { className?: string | undefined; type?: string | undefined }): boolean {
  return (value.className === undefined) !== (value.type === undefined);
}
