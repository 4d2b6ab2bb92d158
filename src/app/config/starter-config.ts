/**
 * The text that `tallyman init` writes: a commented configuration that loads as it stands, with every
 * setting at its default and a pipeline to uncomment.
 *
 * @example
 * ```ts
 * await writeFile("tallyman.config.yaml", starterConfig(), { flag: "wx" });
 * ```
 */
export function starterConfig(): string {
  return starterText;
}

const starterText = `# yaml-language-server: $schema=./node_modules/tallyman/docs/config.schema.json
#
# Configuration of Tallyman. What is commented out shows the default.
#
# Flags win over environment variables, those over this file, this file over the defaults.
# \`tallyman config print\` shows the result, with secrets hidden.
#
# Values may refer to the environment, so that secrets stay out of this file:
#   \${NAME}   must be set
#   \${?NAME}  may be unset; then the key counts as not given

database:
  # A PostgreSQL 15 to 18 of your own. Without it Tallyman runs an embedded PostgreSQL 18.
  # url: postgres://tallyman:\${DATABASE_PASSWORD}@localhost:5432/tallyman
  # schema: tallyman
  # maxPoolSize: 10
  # Behind a PgBouncer in transaction mode, also a direct connection for LISTEN:
  # listenUrl: postgres://tallyman:\${DATABASE_PASSWORD}@localhost:5432/tallyman
  #
  # Where the embedded server lives, and its port (a free one by default):
  # embedded:
  #   folder: .tallyman/postgres
  #   port: 54320

settings:
  # debug, info, warn or error
  logLevel: info
  # Window of rates and percentiles of the database and of what works on it, in seconds.
  metricsWindowSeconds: 5
  # How long each service may take to stop, its final flush included.
  # stopTimeoutMs: 30000
  # Time between two sweeps of topics whose messages have a retention.
  # topicSweepIntervalMs: 60000

# The HTTP API and the dashboard, served by \`tallyman up\` and \`tallyman coordinator\`.
server:
  # Another address than loopback needs access tokens: \`tallyman token create\`.
  host: 127.0.0.1
  port: 8082
  # By which others reach it through a proxy that speaks TLS; needs access tokens too.
  # publicUrl: https://tallyman.example
  # requestTimeoutMs: 300000
  # bodyBytesMax: 1048576
  # importBytesMax: 268435456
  # requestsPerSecondMax: 10000
  # Fields of payloads that nobody is shown:
  # redactedFields: [iban, email]

scheduler:
  coordinator:
    # Milliseconds. The timeout must be at least twice the interval.
    heartbeat-interval: 30000
    heartbeat-timeout: 60000
    leader-election-interval: 10000
    leader-lease: 10000

# The run that services work on; without it they take the first run that begins after they do.
# runId: 20251006143025-550e8400-e29b-41d4-a716-446655440000

# Resources: storage, topics, databases, queues. Each has a class and the options of that class.
resources: {}
#   tick-storage:
#     className: FileSystemStorage
#     options:
#       rootDirectory: .tallyman/storage
#   batch-topic:
#     className: PostgresTopic
#     options:
#       claimTimeout: 300
#   # Where announcements of files go that can't be indexed.
#   batch-topic-dead-letters:
#     className: PostgresTopic
#     options:
#       capacity: 10000
#   metadata-topic:
#     className: PostgresTopic
#   index-database:
#     className: PostgresDatabase
#   tick-queue:
#     className: TickQueue
#   metadata-queue:
#     className: MetadataQueue

# Services, started in this order by \`tallyman up\`. A port is bound to a resource by usage:resource?param=value.
services: {}
#   metadata-indexer:
#     className: MetadataIndexer
#     resources:
#       storage: storage-read:tick-storage
#       topic: topic-read:metadata-topic?consumerGroup=metadata-indexer
#   environment-indexer:
#     className: EnvironmentIndexer
#     resources:
#       storage: storage-read:tick-storage
#       topic: topic-read:batch-topic?consumerGroup=environment-indexer
#   organism-indexer:
#     className: OrganismIndexer
#     resources:
#       storage: storage-read:tick-storage
#       topic: topic-read:batch-topic?consumerGroup=organism-indexer
#   statistics-indexer:
#     className: StatisticsIndexer
#     resources:
#       storage: storage-read:tick-storage
#       topic: topic-read:batch-topic?consumerGroup=statistics-indexer
#   metadata-persistence:
#     className: MetadataPersistenceService
#     resources:
#       queue: queue-in:metadata-queue
#       storage: storage-write:tick-storage
#       topic: topic-write:metadata-topic
#   persistence:
#     className: PersistenceService
#     resources:
#       queue: queue-in:tick-queue
#       storage: storage-write:tick-storage
#       topic: topic-write:batch-topic
#   # Behind its indexers: without a runId they take the first run that begins after they do.
#   simulation:
#     className: SimulationEngine
#     resources:
#       queue: queue-out:tick-queue
#       metadataQueue: queue-out:metadata-queue
#     options:
#       seed: 1
#       samplingInterval: 10
#       maxTicks: 100000
#   dummy-indexer:
#     className: DummyIndexer
#     resources:
#       storage: storage-read:tick-storage
#       metadata: db-meta-read:index-database
#       topic: topic-read:batch-topic?consumerGroup=dummy-indexer
#       # What is not bound is made on the configured database, except a dlq: without one, a file that
#       # can't be indexed puts the service in ERROR; with one it is given up after maxRetries.
#       coordinator: db-coordinator:index-database
#       idempotency: db-idempotency:index-database
#       retryTracker: retry-tracker:index-database
#       dlq: dlq:batch-topic-dead-letters
#     options:
#       metadataPollIntervalMs: 1000
#       metadataMaxPollDurationMs: 300000
#       insertBatchSize: 1000
#       flushTimeoutMs: 5000
#       maxRetries: 3
#       # For indexers without a ledger: don't read again what was processed.
#       enableIdempotency: false
#     # Started by name only, with \`tallyman service start dummy-indexer\`.
#     autostart: false
#     # When it fails: started again after 1, 2, 4 … s, five times in a row at most.
#     restart:
#       policy: on-error
#       maxRestarts: 5
#       backoffMs: 1000
`;
